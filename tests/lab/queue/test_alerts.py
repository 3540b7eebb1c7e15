"""Alerts: above their limits, once, and resolved when that is over."""

from __future__ import annotations

from typing import Any

import pytest

from lab.queue.alerts import due_alerts, firing_after
from schemas.queue import QueueState

EMPTY: dict[str, Any] = {
    name: 0
    for name in QueueState.model_fields
    if name not in {"missing", "cpu_used_ratio", "memory_used_ratio"}
}


def _state(**figures: int) -> QueueState:
    return QueueState(**(EMPTY | figures))


@pytest.mark.parametrize(
    ("alert", "at", "above"),
    [
        ("high_oom_rate", {"oom_kills_last_hour": 5}, {"oom_kills_last_hour": 6}),
        ("queue_congestion", {"jobs_suspended": 30, "jobs_pending": 20},
         {"jobs_suspended": 31, "jobs_pending": 20}),
    ],
)  # fmt: skip
def test_an_alert_fires_above_its_limit_and_not_at_it(
    alert: str, at: dict[str, int], above: dict[str, int]
) -> None:
    """Above 5 kills in the hour, above 50 jobs that wait."""
    assert list(due_alerts(_state(**at), ())) == []
    (raised,) = due_alerts(_state(**above), ())
    assert (raised.alert, raised.state, raised.severity) == (alert, "firing", "warning")
    assert raised.value == raised.limit + 1


def test_an_alert_is_said_once_and_resolved_once() -> None:
    """One that goes on is not repeated each half minute."""
    crowded = _state(jobs_suspended=60)
    (raised,) = due_alerts(crowded, ())
    firing = firing_after((), raised)
    assert list(due_alerts(crowded, firing)) == []
    (over,) = due_alerts(_state(), firing)
    assert over.state == "resolved"
    assert firing_after(firing, over) == frozenset()
