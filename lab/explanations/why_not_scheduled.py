"""The whole answer to `explain pod NAME --why-not schedule`: verdicts, words of the scheduler, changes, limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lab.explanations.frozen_cluster import FrozenCluster, Object
from lab.explanations.scheduling import (
    NodeVerdict,
    SchedulingAnswer,
    explain_scheduling,
    first_obstacle,
)
from lab.explanations.smallest_change import Change, smallest_changes
from lab.explanations.waits import Said, event_seconds
from twin.records import PodRecord

ALWAYS_UNKNOWN = (
    "profiles, plugins and extenders of a scheduler of your own: the default profile of 1.36 is assumed",
    "pods that the scheduler has placed in thought and not written yet",
)
_RESTS_ON = {
    "namespaces": "namespace selectors of affinities",
    "poddisruptionbudgets": "which victims a budget protects",
    "storageclasses": "claims that bind late",
    "persistentvolumes": "volumes of its claims",
    "persistentvolumeclaims": "its claims",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that say the same."""

    plugin: str
    reasons: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WhyNotScheduled:
    """Why a pod is on no node, and what would let it run."""

    pod: str
    as_of_seconds: float
    waits_since_seconds: float | None
    obstacle: str
    """Why the default scheduler does not look at it at all; empty where it does."""
    answer: SchedulingAnswer | None
    groups: tuple[Group, ...]
    changes: tuple[Change, ...]
    said: Said | None
    unknown: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it for `--json`."""
        found = asdict(self)
        for change in found["changes"]:
            change.pop("half")
        return found


def why_not_scheduled(
    cluster: FrozenCluster,
    pod: PodRecord,
    as_of_seconds: float,
    *,
    events: Sequence[Object] = (),
    missing: Sequence[str] = (),
) -> WhyNotScheduled:
    """Answer for one pod of a copy.

    Args:
        cluster: the copy.
        pod: one of its pods.
        as_of_seconds: the cluster's clock of the copy, unix seconds.
        events: the FailedScheduling events about the pod, in any order.
        missing: resources that could not be read.
    """
    name = f"{pod.namespace}/{pod.name}"
    unknown = (*_unknown(pod, missing), *ALWAYS_UNKNOWN)
    if obstacle := first_obstacle(pod):
        return WhyNotScheduled(
            name, as_of_seconds, pod.created_at, obstacle, None, (), (), None, unknown
        )
    answer = explain_scheduling(cluster, pod)
    changes = () if answer.feasible else smallest_changes(cluster, pod)
    return WhyNotScheduled(
        name,
        as_of_seconds,
        pod.created_at or None,
        "",
        answer,
        _groups(answer.verdicts),
        changes,
        _said(pod, answer, events),
        unknown,
    )


def _groups(verdicts: Sequence[NodeVerdict]) -> tuple[Group, ...]:
    nodes: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for one in verdicts:
        nodes[one.plugin, one.reasons].append(one.node)
    ordered = sorted(nodes.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(Group(plugin, reasons, tuple(names)) for (plugin, reasons), names in ordered)


def _said(pod: PodRecord, answer: SchedulingAnswer, events: Sequence[Object]) -> Said | None:
    """Return the scheduler's own newest words: the pod's condition, or an event where that has none."""
    newest = max(events, key=lambda one: event_seconds(one) or 0.0, default=None)
    seconds = None if newest is None else event_seconds(newest)
    text = pod.unschedulable or ("" if newest is None else str(newest.get("message") or ""))
    return Said(text, seconds, text == answer.sentence) if text else None


def _unknown(pod: PodRecord, missing: Sequence[str]) -> tuple[str, ...]:
    found = [
        f"{_RESTS_ON[resource]}: {resource} could not be read"
        for resource in missing
        if resource in _RESTS_ON
    ]
    if pod.shape.spec.get("resourceClaims"):
        found.append("devices of its resource claims (dynamic resource allocation)")
    return tuple(found)
