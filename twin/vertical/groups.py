"""How many pods of one controller may be disturbed at once.

Source: updater/restriction/pods_restriction_factory.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from twin.config.vertical import VerticalConfig
from twin.provisioners.client import Client, controller_of
from twin.records import ObjectRecord, PodRecord

_CONFIGURED = {"ReplicaSet": "replicasets", "StatefulSet": "statefulsets"}


@dataclass(slots=True)
class Group:
    """Live pods of one controller, and what this look did to them."""

    configured: int
    running: int
    tolerance: int
    evicted: int = 0
    resized: int = 0

    @property
    def disruptable(self) -> bool:
        """True when one more pod may be disturbed."""
        alive = self.running - self.evicted - self.resized
        untouched = not self.tolerance and not self.evicted and not self.resized
        return alive > self.configured - self.tolerance or (
            untouched and self.configured == self.running
        )


def groups_of(
    client: Client, vpa: ObjectRecord, pods: Iterable[PodRecord], config: VerticalConfig
) -> dict[str, Group]:
    """Return the group of each pod by its uid; pods of controllers that are too small have none."""
    by_owner: dict[tuple[str, str], list[PodRecord]] = {}
    for pod in pods:
        owner = controller_of(pod)
        if owner is not None:
            by_owner.setdefault((owner["kind"], owner["name"]), []).append(pod)
    least = (vpa.body["spec"].get("updatePolicy") or {}).get("minReplicas", config.least_replicas)
    found: dict[str, Group] = {}
    for (kind, name), members in by_owner.items():
        configured = _configured_replicas(client, vpa.namespace, kind, name, len(members))
        if len(members) < least or not configured:
            continue
        running = sum(pod.phase != "Pending" for pod in members)
        group = Group(configured, running, int(configured * config.eviction_tolerance))
        found |= dict.fromkeys((pod.uid for pod in members), group)
    return found


def _configured_replicas(client: Client, namespace: str, kind: str, name: str, live: int) -> int:
    """Return how many pods a controller wants; 0 when that is not known."""
    if kind == "Job":
        return live
    if kind == "DaemonSet":
        daemons = client.find("daemonsets", namespace, name)
        status = {} if daemons is None else daemons.body.get("status") or {}
        return int(status.get("numberReady", 0))
    record = client.find(_CONFIGURED[kind], namespace, name) if kind in _CONFIGURED else None
    return 0 if record is None else int(record.body["spec"].get("replicas", 1))
