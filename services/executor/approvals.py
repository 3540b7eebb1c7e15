"""What a person approved is what is written: the plan that is made again must show the same. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from schemas.outcome import Operation
from services.executor.ledger import Ledger
from services.executor.pending import WaitingDecision

NOT_AS_APPROVED = "what would be written now is no longer what was approved"


def settled(state: Ledger) -> Iterable[WaitingDecision]:
    """Return what was answered or has run out, oldest first."""
    now = state.seen.cluster_time_seconds
    return (one for one in state.waiting if one.is_settled(now))


def shows_the_same(approved: Sequence[Operation], planned: Sequence[Operation]) -> bool:
    """Say whether two plans write the same to the same objects; versions and our notes with their times may differ."""
    return [_shown(one) for one in approved] == [_shown(one) for one in planned]


def _shown(operation: Operation) -> tuple[Any, ...]:
    return (
        operation.verb,
        operation.resource,
        operation.namespace,
        operation.name,
        operation.uid,
        operation.replicas,
        _without_notes(operation.patch),
    )


def _without_notes(patch: str) -> Any:
    """Return a patch without annotations, which say when and why, and change nothing else."""
    content: Any = json.loads(patch or "null")
    if isinstance(content, dict) and isinstance(content.get("metadata"), dict):
        metadata = {
            key: value for key, value in content["metadata"].items() if key != "annotations"
        }
        return {**content, "metadata": metadata}
    return content
