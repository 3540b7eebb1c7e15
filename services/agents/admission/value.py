"""Agent C by expected value: hold nothing back that nobody else gains by, let go of what is held, and make room.

A pod that is held costs more than one that waits, and holding one pod gives another its place only where the other
could not have it by its PriorityClass, which the scheduler sees to. So nothing is held; what is held is given free.
"""

from __future__ import annotations

from schemas.actions import AdmissionAction, Evidence
from schemas.numbers import rounded
from services.agents.admission.headroom import room_for_waiting
from services.agents.appraisal import Appraisal, Candidate, PolicyInput
from services.agents.effects import HOUR, effect_of
from services.agents.policy import QUEUE


def appraise(situation: PolicyInput) -> Appraisal:
    """Return an admit while demand is held back, and room for what waits although there is enough in all."""
    view, settings, memory = situation.view, situation.settings, situation.memory
    held = memory.held_pods
    waiting = view.totals.queue_length
    text = (
        f"{waiting} pods wait at {settings.waiting_pod_hour:g} {settings.currency} a pod-hour; holding them would cost "
        f"{settings.held_pod_hour:g}, and nobody gains by it"
    )
    room, why = room_for_waiting(situation)
    if why:
        text = f"{text}; {why}"
    if held < 0.5:
        return Appraisal(room, text)
    evidence = Evidence(
        name="held_pods", value=rounded(held), comparison=">", threshold=0, holds=True, signal="workloads",
    )  # fmt: skip
    horizon = settings.horizon_seconds
    gained = held * horizon / HOUR * (settings.held_pod_hour - settings.waiting_pod_hour)
    effect = effect_of({"held": gained}, horizon, settings, spread=0.5 * gained)
    action = AdmissionAction(target=QUEUE, admission="admit")
    return Appraisal(
        (*room, Candidate(action, effect, (evidence,), f"{held:.3g} pods are held back")), text
    )
