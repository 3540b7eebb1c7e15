"""Why a pod is Pending, as a class: pressure, a selector that fits nowhere, a taint, an image, ...

The scheduler's sentence counts nodes by cause ("0/5 nodes are available: 1 Insufficient cpu, 4
node(s) didn't match ..."). The class is the cause that holds for most nodes; the sentence itself
travels beside it, so nothing is flattened.
"""

from __future__ import annotations

import re

from schemas.reasons import PendingClass

_CAUSE = re.compile(r"(\d+) (.*?)(?=, \d+ [A-Za-z]|\.?$)", re.DOTALL)
_PREEMPTION = " preemption:"
GATED = "SchedulingGated"
"""Reason of the condition PodScheduled while a gate stands."""
KUEUE = "kueue.x-k8s.io/"
"""What gates and labels of Kueue begin with."""
QUEUE_NAME = f"{KUEUE}queue-name"
"""Label of what waits in a queue of Kueue's."""
_ORDER = {kind: number for number, kind in enumerate(PendingClass)}

_PHRASES: tuple[tuple[str, PendingClass], ...] = (
    ("insufficient cpu", PendingClass.INSUFFICIENT_CPU),
    ("insufficient memory", PendingClass.INSUFFICIENT_MEMORY),
    ("too many pods", PendingClass.INSUFFICIENT_PODS),
    ("persistentvolumeclaim", PendingClass.VOLUME),
    ("volume", PendingClass.VOLUME),
    ("were unschedulable", PendingClass.UNSCHEDULABLE_NODES),
    ("node.kubernetes.io/unschedulable", PendingClass.UNSCHEDULABLE_NODES),
    ("node.kubernetes.io/not-ready", PendingClass.UNSCHEDULABLE_NODES),
    ("node.kubernetes.io/unreachable", PendingClass.UNSCHEDULABLE_NODES),
    ("taint", PendingClass.TAINT),
    ("affinity", PendingClass.SELECTOR),
    ("selector", PendingClass.SELECTOR),
    ("topology spread", PendingClass.SELECTOR),
    ("quota", PendingClass.QUOTA),
)
_WAITING: dict[str, PendingClass] = {
    "ContainerCreating": PendingClass.STARTING,
    "PodInitializing": PendingClass.STARTING,
    "ImagePullBackOff": PendingClass.IMAGE,
    "ErrImagePull": PendingClass.IMAGE,
    "ErrImageNeverPull": PendingClass.IMAGE,
    "InvalidImageName": PendingClass.IMAGE,
    "ImageInspectError": PendingClass.IMAGE,
    "RegistryUnavailable": PendingClass.IMAGE,
}


def pending_class(*, bound: bool, reason: str, message: str) -> PendingClass:
    """Return the class of a Pending pod from the API's own reason and message.

    `bound` says whether the pod has a node; then the reason is that of a waiting container, else
    that of the PodScheduled condition.
    """
    if bound:
        return _WAITING.get(reason, PendingClass.OTHER if reason else PendingClass.STARTING)
    if reason == GATED:
        return PendingClass.KUEUE if KUEUE in message else PendingClass.GATED
    if not reason and not message:
        return PendingClass.NOT_YET_TRIED
    counts = cause_counts(message)
    if not counts:
        return _class_of_phrase(message)
    return min(counts, key=lambda kind: (-counts[kind], _ORDER[kind]))


def cause_counts(message: str) -> dict[PendingClass, int]:
    """Return how many nodes each class of cause rules out, as the scheduler counted them."""
    _, separator, listed = message.partition("nodes are available: ")
    counts: dict[PendingClass, int] = {}
    if separator:
        for count, phrase in _CAUSE.findall(listed.split(_PREEMPTION)[0].strip()):
            kind = _class_of_phrase(phrase)
            counts[kind] = counts.get(kind, 0) + int(count)
    return counts


def _class_of_phrase(phrase: str) -> PendingClass:
    text = phrase.lower()
    if text.startswith("insufficient ") and "gpu" in text:
        return PendingClass.INSUFFICIENT_GPU
    return next((kind for needle, kind in _PHRASES if needle in text), PendingClass.OTHER)
