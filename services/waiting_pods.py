"""The API's words for why a pod has no node, and their class."""

from __future__ import annotations

from schemas.reasons import PendingClass
from services.kube_objects import Pod
from services.pending import GATED, pending_class


def scheduling_words(pod: Pod) -> tuple[str, str]:
    """Return the API's reason and message for a pod without a node; of a gated one the gates' names, too.

    The message alone says that there are gates, and not whose.
    """
    scheduled = pod.condition("PodScheduled")
    if scheduled is None or scheduled.status == "True":
        return pod.status.reason, pod.status.message
    if scheduled.reason != GATED or not pod.spec.scheduling_gates:
        return scheduled.reason, scheduled.message
    gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
    return scheduled.reason, f"{scheduled.message} ({gates})".strip()


def class_of_waiting_pod(pod: Pod) -> PendingClass:
    """Return why a pod waits for a node."""
    reason, message = scheduling_words(pod)
    return pending_class(bound=False, reason=reason, message=message)
