"""When a pod is ready: its containers answer, and its readiness gates are open."""

from __future__ import annotations

from twin.records import PodRecord
from twin.render.readiness import closed_gates


def set_ready(pod: PodRecord, answers: bool, now: float) -> None:
    """Note that the containers of a pod answer their probes, or no longer do."""
    if not pod.shape.spec.get("readinessGates"):
        pod.ready, pod.ready_at = answers, now
        return
    if pod.containers_ready is None or pod.containers_ready[0] != answers:
        pod.containers_ready = (answers, now)
    ready = answers and not closed_gates(pod)
    if ready != pod.ready:
        pod.ready, pod.ready_at = ready, now


def gates_changed(pod: PodRecord) -> bool:
    """Say whether a pod is ready and should not be, or the other way round."""
    return pod.ready != (pod.containers_are_ready and not closed_gates(pod))
