"""The default spreading of pods without constraints: by the Services and the owner that select them.

Upstream: podtopologyspread/common.go (buildDefaultConstraints) and plugins/helper/spread.go.
"""

from __future__ import annotations

from twin.changes import Change
from twin.config.scheduling import DefaultSpread
from twin.kinds import KINDS
from twin.needs import SpreadConstraint
from twin.part import Part
from twin.records import Object, ObjectRecord, PodRecord
from twin.scheduling.pod_topology_spread import default_selector
from twin.selectors import matches
from twin.world import World

_OWNERS = {"ReplicaSet": "replicasets", "StatefulSet": "statefulsets"}
_KEPT = 4_096


class DefaultSpreading(Part):
    """Soft constraints by pod, kept by owner until a Service changes."""

    LEAVES = ("_known", "_services")

    def __init__(self, world: World, constraints: tuple[DefaultSpread, ...]) -> None:
        self._world = world
        self._constraints = constraints
        self._known: dict[object, tuple[SpreadConstraint, ...]] = {}
        self._services: dict[str, int] = {}  # how many there are, by namespace

    def restored(self) -> None:
        """Recount the Services."""
        self._known.clear()
        self._services.clear()
        for service in self._world.store.records("services"):
            self._services[service.namespace] = self._services.get(service.namespace, 0) + 1

    def follow(self, change: Change) -> None:
        """Take in one change of a Service."""
        if change.resource != "services":
            return
        self._known.clear()
        if change.type != "MODIFIED":
            step = 1 if change.type == "ADDED" else -1
            self._services[change.namespace] = self._services.get(change.namespace, 0) + step

    def constraints(self, pod: PodRecord) -> tuple[SpreadConstraint, ...]:
        """Return the default constraints of a pod without its own, often none."""
        if not self._constraints:
            return ()
        resource, name, uid = self._owner(pod)
        served = self._services.get(pod.namespace)
        if not resource and not served:
            return ()
        key = (pod.namespace, uid, tuple(pod.labels.items()) if served else ())
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[key] = self._build(pod, resource, name)
        return known

    def _owner(self, pod: PodRecord) -> tuple[str, str, str]:
        for owner in pod.owners:
            resource = _OWNERS.get(owner["kind"], "") if owner.get("controller") else ""
            if resource in KINDS:
                return resource, owner["name"], owner["uid"]
        return "", "", ""

    def _build(self, pod: PodRecord, resource: str, name: str) -> tuple[SpreadConstraint, ...]:
        owner = self._selector_of(resource, pod.namespace, name) if resource else None
        selector = default_selector(self._service_selectors(pod), owner)
        if selector is None:
            return ()
        return tuple(
            SpreadConstraint(entry.topology_key, entry.max_skew, selector)
            for entry in self._constraints
        )

    def _selector_of(self, resource: str, namespace: str, name: str) -> Object | None:
        record = self._world.store.find(resource, namespace, name)
        if not isinstance(record, ObjectRecord):
            return None
        selector: Object | None = record.body["spec"].get("selector")
        return selector

    def _service_selectors(self, pod: PodRecord) -> list[dict[str, str]]:
        return [
            record.body["spec"]["selector"]
            for record in self._world.store.records("services", pod.namespace)
            if isinstance(record, ObjectRecord)
            and (record.body.get("spec") or {}).get("selector")
            and matches({"matchLabels": record.body["spec"]["selector"]}, pod.labels)
        ]
