"""Agent C, admission: protects the queue of pending workloads."""

from __future__ import annotations

from services.agents.admission.policy import SIGNALS, choices, judge
from services.agents.admission.reward import reward_terms
from services.agents.admission.thresholds import AdmissionThresholds
from services.agents.admission.value import appraise
from services.agents.registration import AgentRegistration

AGENT = AgentRegistration(
    signals=SIGNALS,
    thresholds=AdmissionThresholds,
    judge=judge,
    appraise=appraise,
    choices=choices,
    reward=reward_terms,
)
