"""Targets that are left untouched on purpose, so that what acting on the others changes can be estimated.

A hash of seed, target and epoch says which: anyone can compute it again, a restart changes nothing, and in the long run
no target is left for longer than another. What gives back is never left.
"""

from __future__ import annotations

import hashlib

from schemas.actions import (
    Action,
    AdmissionAction,
    PowerStateAction,
    ReplicateAction,
    ResizeAction,
    Target,
    TargetKind,
)
from services.agents.memory import Memory
from services.agents.value_settings import ValueSettings

ELIGIBLE = frozenset({TargetKind.NODE, TargetKind.WORKLOAD})
"""There is one queue, so nothing could be compared with it."""
_WHOLE = 2**64


def epoch_at(time_seconds: float, settings: ValueSettings) -> int:
    """Return the number of the epoch at a moment of cluster time, counted from the Unix epoch."""
    return int(time_seconds // settings.untouched_epoch_seconds)


def is_drawn(seed: int, target: Target, epoch: int, ratio: float) -> bool:
    """Say whether a target is left untouched in an epoch: the first eight bytes of a SHA-256, below the ratio."""
    text = f"untouched/{seed}/{target.kind}/{target.name}/{epoch}"
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") < ratio * _WHOLE


def may_be_left(action: Action, memory: Memory) -> bool:
    """Say whether an action counts among those that may be left: it adds something of ours to a single target."""
    return action.target.kind in ELIGIBLE and not gives_back(action, memory)


def gives_back(action: Action, memory: Memory) -> bool:
    """Say whether an action ends something of ours: waking, admitting, fewer replicas."""
    match action:
        case PowerStateAction():
            return action.power_state == "on"
        case AdmissionAction():
            return action.admission == "admit"
        case ReplicateAction(replicas=int(replicas)):
            behind = (one for one in memory.services.values() if one.workload == action.target.name)
            return any(replicas < one.replicas for one in behind)
        case ResizeAction():  # what it took before may have to be given back
            return action.target.name in memory.sized
    return False
