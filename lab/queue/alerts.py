"""Alerts about queues: which are due after a look, given which fire. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from schemas.queue import AlertName, QueueAlert, QueueState

Figure = Callable[[QueueState], int]
LIMITS: Mapping[AlertName, tuple[Figure, float]] = {
    "high_oom_rate": (lambda state: state.oom_kills_last_hour, 5.0),
    "queue_congestion": (lambda state: state.queue_length, 50.0),
}
"""Each alert with its figure and the predecessors' limit, above which it fires: kills for want of memory within
an hour, and jobs that wait, whoever holds them back."""


def due_alerts(state: QueueState, firing: Collection[AlertName]) -> Iterator[QueueAlert]:
    """Yield an alert for each that begins or ends with this look; one that goes on is not said again."""
    for name, (figure, limit) in LIMITS.items():
        value = figure(state)
        if (value > limit) is not (name in firing):
            yield QueueAlert(
                cluster_time_seconds=state.cluster_time_seconds,
                alert=name,
                state="firing" if value > limit else "resolved",
                value=value,
                limit=limit,
            )


def firing_after(firing: Collection[AlertName], alert: QueueAlert) -> frozenset[AlertName]:
    """Return which alerts fire after this one."""
    if alert.state == "firing":
        return frozenset({*firing, alert.alert})
    return frozenset(firing) - {alert.alert}
