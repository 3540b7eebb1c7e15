"""What incidents and the list of decisions hold of a long log: of each cycle little, and no whole comparison."""

from __future__ import annotations

import gc

from projections.cycle_record import CycleRecord
from projections.incidents.history import ClusterHistory
from schemas.outcome import ExecutionPhase
from schemas.reasons import Reason
from schemas.score import ComponentDifference, OutcomeCounterfactual
from services.dashboard.decision_entry import entry_of
from tests import builders
from tests.score_events import make_difference


def components() -> int:
    """Return how many parts of comparisons are in memory."""
    gc.collect()
    return sum(1 for one in gc.get_objects() if type(one) is ComponentDifference)


def difference(cycle: int) -> OutcomeCounterfactual:
    """Return the comparison of a cycle."""
    return make_difference(cycle, 10.0 * cycle, waiting=float(cycle))


def test_comparisons_are_packed_until_an_incident_looks() -> None:
    """A hundred of them hold no part; the last before a time and the first at its end come back as they were."""
    history, before = ClusterHistory(), components()
    for cycle in range(100):
        history.add(builders.stamp_event(difference(cycle)))

    assert components() == before
    assert history.differences.around(205.0, 301.0) == (difference(20), difference(31))
    assert history.differences.around(205.0, 5_000.0) == (difference(20), difference(99))
    assert history.differences.around(-1.0, 0.0) == (None, difference(0))
    assert history.differences.around(990.0, 995.0) == (difference(99), None)


def test_executions_of_nothing_are_not_held() -> None:
    """Most cycles do nothing, and each says so; a beginning is no outcome either."""
    history = ClusterHistory()
    for phase, reason in (
        (ExecutionPhase.FINISHED, Reason.NOOP),
        (ExecutionPhase.STARTED, None),
        (ExecutionPhase.FINISHED, None),
    ):
        history.add(builders.stamp_event(builders.make_execution(phase=phase, reason=reason)))

    assert [event.data.reason for event in history.executions] == [None]
    assert [event.data.phase for event in history.executions] == [ExecutionPhase.FINISHED]


def test_entries_of_decisions_share_their_texts() -> None:
    """Two decisions to do nothing for the same reason hold it once; empty lists are one empty one."""
    entries = []
    for cycle in (1, 2):
        decision = builders.make_decision(cycle=cycle)
        entries.append(entry_of(CycleRecord(cycle).after(builders.stamp_event(decision))))
    first, second = entries
    assert first is not None
    assert second is not None

    assert first.row["cycle"] == 1
    assert first.told("noop") == second.told("noop") != ""
    for name in ("noop", "label", "rule", "more", "missing"):
        assert first.told(name) is second.told(name)
    assert first.lost is second.lost
    assert type(first.told("rule")) is str
