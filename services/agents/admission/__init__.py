"""Agent C, admission: protects the queue of pending workloads."""

from __future__ import annotations

from agent_registry.registration import AgentRegistration
from services.agents.admission.policy import SIGNALS, choices, judge
from services.agents.admission.reward import reward_terms
from services.agents.admission.thresholds import AdmissionThresholds
from services.agents.admission.value import appraise

AGENT = AgentRegistration(
    name="admission",
    letter="C",
    order=2,
    purpose="protects the queue (admit, queue, deprioritize, reject, resource_cap)",
    colour="#4863b0",
    dark_colour="#8aa2ee",
    signals=SIGNALS,
    prediction=None,
    thresholds=AdmissionThresholds,
    judge=judge,
    appraise=appraise,
    choices=choices,
    reward=reward_terms,
    reward_weight=0.8,
    protects=frozenset(
        ("resource_cap", "admission:queue", "admission:reject", "admission:deprioritize")
    ),
)
