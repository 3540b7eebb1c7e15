"""What later observations add to a waiting prediction: from when on, until when, and what counts first."""

from __future__ import annotations

from services.scoreboard.pending import PendingForecast, note_observation, use_ratios
from tests.builders import make_demand, make_risk, observed_nodes

AT, HORIZON = 1_000.0, 60.0
NOBODY: frozenset[str] = frozenset()


def pending(**fields: object) -> PendingForecast:
    """Return a prediction about one node, made at `AT`."""
    given = {
        "cycle": 1,
        "cluster_time_seconds": AT,
        "horizon_seconds": HORIZON,
        "model_id": "m",
        "risk": make_risk({"node-0": 0.9}).nodes,
        **fields,
    }
    return PendingForecast.model_validate(given)


def failing_at(waiting: PendingForecast, *times: float) -> PendingForecast:
    """Return the prediction after observations that show its node failing."""
    for time_seconds in times:
        failures = {"unhealthy": frozenset({"node-0", "node-9"}), "attempt_failed": NOBODY}
        waiting = note_observation(waiting, time_seconds, failures, {})
    return waiting


def test_what_was_seen_at_the_moment_of_the_prediction_is_no_outcome() -> None:
    """The observation that the prediction was made from, and any of the same instant, do not count."""
    assert failing_at(pending(), AT - 1, AT) == pending()
    assert failing_at(pending(), AT + 0.000001).failed == ("node-0",)


def test_a_failure_counts_from_when_it_was_first_seen() -> None:
    """A node that goes on failing, or fails again, keeps its first time; others are not noted."""
    actual = failing_at(pending(), AT + 5, AT + 10, AT + 15)

    assert (actual.failed, actual.failed_time_seconds) == (("node-0",), (AT + 5,))


def test_only_the_failure_that_was_foreseen_counts() -> None:
    """A model of failed attempts is not held against a node that is merely unhealthy."""
    assert failing_at(pending(failure="attempt_failed"), AT + 5).failed == ()


def test_the_greatest_use_counts_and_not_the_newest() -> None:
    """A peak stays a peak; a node that is not seen any more adds nothing."""
    waiting = pending(risk=None, demand=make_demand({"node-0": 0.5}).nodes, demand_of="peak_use")
    none = {"unhealthy": NOBODY, "attempt_failed": NOBODY}

    for number, use in enumerate([{"node-0": 0.4}, {"node-0": 0.7}, {"node-0": 0.1}, {}], start=1):
        waiting = note_observation(waiting, AT + number, none, use)

    assert waiting.peaks == (0.7,)


def test_use_is_what_is_measured_and_requests_where_nothing_is() -> None:
    """Of CPU and memory the greater, each measured where it can be."""
    requested = {"cpu_requested_ratio": 0.5, "memory_requested_ratio": 0.6}
    rows = {
        "both": {**requested, "cpu_used_ratio": 0.1, "memory_used_ratio": 0.2},
        "cpu": {**requested, "cpu_used_ratio": 0.9, "memory_used_ratio": None},
        "memory": {**requested, "cpu_used_ratio": None, "memory_used_ratio": 0.8},
        "none": {**requested, "cpu_used_ratio": None, "memory_used_ratio": None},
    }

    assert use_ratios(observed_nodes(rows)) == {
        "both": 0.2,
        "cpu": 0.9,
        "memory": 0.8,
        "none": 0.6,
    }
