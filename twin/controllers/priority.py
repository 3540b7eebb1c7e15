"""The Priority admission plugin: pods get the priority and preemption policy of their class.

Upstream: plugin/pkg/admission/priority/admission.go.
"""

from __future__ import annotations

from twin.admission.priority_classes import PREEMPT_LOWER, SYSTEM_CLASSES
from twin.errors import forbidden
from twin.kinds import Kind
from twin.records import Object, ObjectRecord
from twin.store import Store

_GROUP = "scheduling.k8s.io"


class PriorityGate:
    """Gives pods the priority of their class, and keeps the default class the only one."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def prepare(self, kind: Kind, namespace: str, obj: Object) -> None:
        """Resolve a new pod's class; raises ApiError 403."""
        del namespace
        if kind.resource == "pods":
            self._resolve(obj.setdefault("spec", {}), obj["metadata"].get("name", ""))

    def charge(
        self, kind: Kind, namespace: str, obj: Object, old: Object | None, *, dry_run: bool
    ) -> None:
        """Refuse a second default class with ApiError 403."""
        del namespace, old, dry_run
        if kind.resource != "priorityclasses" or not obj.get("globalDefault"):
            return
        name = obj["metadata"]["name"]
        known = self._default()
        if known is not None and known.name != name:
            why = f"PriorityClass {known.name} is already marked as default. Only one default "
            raise forbidden(kind.resource, name, f"{why}can exist", group=_GROUP)

    def _resolve(self, spec: Object, pod: str) -> None:
        name = spec.get("priorityClassName")
        priority_class = self._class(name) if name else self._default()
        if name and priority_class is None:
            raise forbidden("pods", pod, f"no PriorityClass with name {name} was found")
        value, policy = 0, PREEMPT_LOWER
        if priority_class is not None:
            spec["priorityClassName"] = priority_class.name
            value = priority_class.body["value"]
            policy = priority_class.body.get("preemptionPolicy", PREEMPT_LOWER)
        for field, kind, computed in (
            ("priority", "integer value of priority", value),
            ("preemptionPolicy", "string value of PreemptionPolicy", policy),
        ):
            stated = spec.get(field)
            if stated is not None and stated != computed:
                raise forbidden(
                    "pods",
                    pod,
                    f"the {kind} ({stated}) must not be provided in pod spec; priority admission "
                    f"controller computed {computed} from the given PriorityClass name",
                )
            spec[field] = computed

    def _class(self, name: str) -> ObjectRecord | None:
        record = self._store.find("priorityclasses", "", name)
        assert record is None or isinstance(record, ObjectRecord)
        return record

    def _default(self) -> ObjectRecord | None:
        """Return the class marked as default; of several the one with the lowest value."""
        marked = [
            record
            for record in self._store.records("priorityclasses")
            if isinstance(record, ObjectRecord) and record.body.get("globalDefault")
        ]
        return min(marked, key=lambda record: record.body["value"], default=None)


def add_system_classes(store: Store) -> None:
    """Create what an API server creates at its first start."""
    for entry in SYSTEM_CLASSES:
        store.create("priorityclasses", "", entry)
