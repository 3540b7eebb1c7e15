"""Holds a disturbed run against an undisturbed one: equal, except where the log itself says why not.

Both runs see the same world: faults hit neither the sources nor the cluster, and writes are dry
runs. So layers 1 and 2 must be equal byte for byte, and everything derived from them must be equal
unless the event names a reason of the list below, or follows from an event that does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bus.events import event_of
from bus.port import StoredMessage
from schemas.decision import ClosedBy
from schemas.envelope import Event
from schemas.outcome import ExecutionPhase, OutcomeExecution, OutcomeForecast
from schemas.reasons import Reason
from schemas.stimulus import Stimulus
from schemas.subjects import parse

NAMED = frozenset(
    {
        Reason.SUPERSEDED,
        Reason.PREDICTION_MISSING,
        Reason.PREDICTION_SKIPPED,
        Reason.STALE_DECISION,
        Reason.ABANDONED_AFTER_RESTART,
        Reason.NOT_OBSERVED,
        ClosedBy.DEADLINE,
        ClosedBy.RESTART,
    }
)
"""What a disturbed run may say instead of what an undisturbed one says."""
FOUND_AT_THE_DOOR = frozenset(
    {
        Reason.TARGET_GONE,
        Reason.TARGET_CHANGED,
        Reason.ALREADY_IN_STATE,
        Reason.NO_MOVABLE_POD,
        Reason.NO_WORKLOAD,
        Reason.NODE_NOT_EMPTY,
        Reason.CONFLICT,
        Reason.PDB,
    }
)
"""What re-validation just before acting finds: it reads the cluster at another moment in each run."""
SAME = frozenset({"snapshot", "observation", "reaction", "stimulus"})
"""Layers that nothing in a disturbed run may change."""
COMPARED = (*SAME, "prediction", "proposal", "decision", "outcome")
UNCOMPARED_FIELDS = frozenset(
    {"repeat_count", "cluster_time_seconds", "lag_seconds", "mean_total", "scored", "text"}
)
"""They count or time what was done before; judged by the events that are counted."""
WHAT_BECAME_OF_IT = frozenset({"decided", "executed", "verified", "given_back"})
"""Of a stimulus: what was decided and done during its phase, which are events of their own."""


@dataclass
class Comparison:
    """What was compared, and the differences without an explanation."""

    compared: int = 0
    different: int = 0
    """Different for a named reason."""
    problems: list[str] = field(default_factory=list)


def compare(undisturbed: Iterable[StoredMessage], disturbed: Iterable[StoredMessage]) -> Comparison:
    """Compare two logs of one seed, event by event, by id."""
    undisturbed_by_id = {event.id: (event, data) for event, data in _events(undisturbed)}
    disturbed_by_id = {event.id: (event, data) for event, data in _events(disturbed)}
    result = Comparison()
    explained: set[str] = set()
    history = False
    for identity, (event, data) in disturbed_by_id.items():
        layer = parse(event.subject).layer
        other = undisturbed_by_id.get(identity)
        result.compared += 1
        if other is not None and _view(event, data) == _view(other[0], other[1]):
            continue
        if layer in SAME:
            result.problems.append(f"seq {event.seq}: {_name(event)} differs although nothing may")
        elif (
            _explains(event, explained, history=history)
            or _at_the_door(event, other)
            or _saw_another_cycle(event, other)
            or _scored_before_it_was_predicted(event, other, disturbed_by_id)
        ):
            explained.add(identity)
            history = history or layer in {"decision", "outcome"}
            result.different += 1
        else:
            result.problems.append(f"seq {event.seq}: {_name(event)} differs and gives no reason")
    for identity, (event, _) in undisturbed_by_id.items():
        if identity not in disturbed_by_id and not _may_be_missing(
            event, disturbed_by_id, history=history
        ):
            result.problems.append(f"{_name(event)} is missing")
    return result


def _events(messages: Iterable[StoredMessage]) -> Iterable[tuple[Event[Any], Any]]:
    for message in messages:
        if parse(message.subject).layer in COMPARED:
            event = event_of(message)
            yield event, json.loads(message.data)


def _view(event: Event[Any], data: Any) -> Any:
    """Return what has to be equal: everything, or for an execution what was planned and why not."""
    if isinstance(event.data, OutcomeExecution):
        operations = [
            (
                operation["verb"],
                operation["resource"],
                operation["name"],
                operation.get("patch"),
                operation.get("replicas"),
            )
            for operation in data.get("operations", ())
        ]
        return data["phase"], data["action"], data.get("reason"), operations
    counted = WHAT_BECAME_OF_IT if isinstance(event.data, Stimulus) else frozenset()
    uncompared = UNCOMPARED_FIELDS | counted
    return {name: value for name, value in data.items() if name not in uncompared}


def _explains(event: Event[Any], explained: set[str], *, history: bool) -> bool:
    if any(cause in explained for cause in event.causation_ids):
        return True
    if parse(event.subject).layer == "outcome" and history:
        return True  # guard rails and running means look back at what was done, or not, before
    return _names_a_reason(event)


def _at_the_door(event: Event[Any], other: tuple[Event[Any], Any] | None) -> bool:
    pair = [event] if other is None else [event, other[0]]
    executions = [event.data for event in pair if isinstance(event.data, OutcomeExecution)]
    return any(execution.reason in FOUND_AT_THE_DOOR for execution in executions)


def _saw_another_cycle(event: Event[Any], other: tuple[Event[Any], Any] | None) -> bool:
    """An outcome of a late decision names the later observation that could first show its effect."""
    observed_cycle = getattr(event.data, "observed_cycle", None)
    return other is not None and observed_cycle != getattr(other[0].data, "observed_cycle", None)


def _scored_before_it_was_predicted(
    event: Event[Any], other: tuple[Event[Any], Any] | None, disturbed_by_id: dict[str, Any]
) -> bool:
    """A score leaves out, as null, a prediction that was stored after the horizon had ended, or never."""
    if other is None or not isinstance(event.data, OutcomeForecast):
        return False
    left_out = [cause for cause in other[0].causation_ids if cause not in event.causation_ids]
    late = [
        cause not in disturbed_by_id or disturbed_by_id[cause][0].seq > event.seq
        for cause in left_out
    ]
    return bool(late) and all(late) and None in (event.data.risk, event.data.demand)


def _names_a_reason(event: Event[Any]) -> bool:
    reasons = (getattr(event.data, "reason", None), getattr(event.data, "closed_by", None))
    considered = getattr(event.data, "considered", ())
    return any(one in NAMED for one in (*reasons, *(one.reason for one in considered)))


def _may_be_missing(event: Event[Any], disturbed_by_id: dict[str, Any], *, history: bool) -> bool:
    """A plan may be missing where the run refused it, or something was done before that it rests on."""
    del disturbed_by_id
    return history and parse(event.subject).layer == "outcome" and not _is_final(event)


def _is_final(event: Event[Any]) -> bool:
    """Rewards are due in every run; executions and their verification depend on earlier events."""
    if isinstance(event.data, OutcomeExecution):
        return event.data.phase is ExecutionPhase.REFUSED and event.data.reason is Reason.NOOP
    return event.type.startswith("foresail.outcome.reward")


def _name(event: Event[Any]) -> str:
    return f"{event.type} of cycle {event.cycle}"
