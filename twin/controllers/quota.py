"""ResourceQuota: refuses at create what would exceed it, and keeps `status.used`.

A pod that is refused does not exist: it is not Pending (403 Forbidden, in the API server's words).
What is admitted is charged in the same moment; what goes away is credited a moment later, by
counting anew. LimitRange's bounds are checked first. Without either in the cluster, creating costs
one look-up.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from twin.admission import limit_ranges
from twin.admission.quota_scopes import has_scopes, selects
from twin.admission.quotas import (
    OF_CLASS,
    STORAGE,
    Amounts,
    amount_text,
    exceeded_names,
    is_counted,
    parse_amounts,
    refusal,
    unspecified_resources,
    usage_of,
)
from twin.changes import Change
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import set_status
from twin.errors import forbidden
from twin.intake import pod_shape
from twin.kinds import KINDS, Kind
from twin.records import Object, ObjectRecord, PodRecord, Record
from twin.render import render
from twin.world import World

_QUOTAS, _RANGES = "resourcequotas", "limitranges"
CHANGING = frozenset({"services", "persistentvolumeclaims"})
"""Resources whose objects may use more or less after a change."""
_SERVED = frozenset(
    f"{kind.plural}.{kind.group}" if kind.group else kind.plural for kind in KINDS.values()
)


class Quotas:
    """The gate that charges quotas, and the reconciler of their status."""

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        self._world = world
        self._loop = loop
        off = world.config.controllers.switched_off
        self._quotas_on, self._ranges_on = _QUOTAS not in off, _RANGES not in off

    # ---- the gate

    def prepare(self, kind: Kind, namespace: str, obj: Object) -> None:
        """Give a pod the defaults of the namespace's LimitRanges."""
        if kind.resource != "pods" or not self._ranges_on or not self._world.store.count(_RANGES):
            return
        limits = self._limits(namespace)
        if limits and isinstance(obj.get("spec"), dict):
            limit_ranges.fill(obj["spec"], limits, obj["metadata"])

    def charge(
        self, kind: Kind, namespace: str, obj: Object, old: Object | None, *, dry_run: bool
    ) -> None:
        """Let an object pass the LimitRanges and quotas of its namespace or raise ApiError 403."""
        store = self._world.store
        if kind.resource == "pods" and self._ranges_on and store.count(_RANGES):
            self._check_ranges(namespace, obj)
        if self._quotas_on and store.count(_QUOTAS) and kind.namespaced:
            self._charge_quotas(kind, namespace, obj, old, dry_run=dry_run)

    def _check_ranges(self, namespace: str, obj: Object) -> None:
        broken = limit_ranges.violations(obj["spec"], self._limits(namespace))
        if broken:
            text = broken[0] if len(broken) == 1 else f"[{', '.join(broken)}]"
            raise forbidden("pods", str(obj["metadata"].get("name", "")), text)

    def _limits(self, namespace: str) -> list[Object]:
        return [
            entry
            for record in self._world.store.records(_RANGES, namespace)
            if isinstance(record, ObjectRecord)
            for entry in record.body["spec"]["limits"]
        ]

    def _charge_quotas(
        self, kind: Kind, namespace: str, obj: Object, old: Object | None, *, dry_run: bool
    ) -> None:
        name = str(obj["metadata"].get("name", ""))
        delta = usage_of(kind, obj)
        if old is not None:
            before = usage_of(kind, old)
            delta = {key: amount - before.get(key, Decimal(0)) for key, amount in delta.items()}
        charged: list[tuple[ObjectRecord, Amounts]] = []
        for record in self._world.store.records(_QUOTAS, namespace):
            assert isinstance(record, ObjectRecord)
            spec = record.body["spec"]
            if not _is_covered(spec, kind, obj):
                continue
            hard, used = parse_amounts(spec.get("hard")), self._charged_amounts(record)
            if kind.resource == "pods" and old is None:
                missing = unspecified_resources(obj["spec"], hard)
                if missing:
                    why = f"failed quota: {record.name}: must specify {missing}"
                    raise forbidden(kind.resource, name, why, group=kind.group)
            added = {key: amount for key, amount in delta.items() if key in hard and amount}
            too_much = exceeded_names(used, hard, added)
            if too_much:
                raise refusal(kind, name, record.name, too_much, added, used, hard)
            if added:
                total = {key: used.get(key, Decimal(0)) + amount for key, amount in added.items()}
                charged.append((record, {**used, **total}))
        if not dry_run:
            for record, used in charged:
                self._write(record, used)

    # ---- the controller

    def follow(self, change: Change) -> None:
        """Count anew when a quota was written, or something that it may count went away."""
        store = self._world.store
        if not store.count(_QUOTAS):
            return
        record = change.record
        if change.resource == _QUOTAS:
            if change.type != "DELETED":
                self._loop.note(_QUOTAS, record.namespace, record.name)
        elif change.type == "DELETED" or change.resource in CHANGING or _has_ended(change):
            for quota in store.records(_QUOTAS, record.namespace):
                self._loop.note(_QUOTAS, quota.namespace, quota.name)

    def reconcile(self, namespace: str, name: str) -> None:
        """Write what is used of one quota."""
        record = self._world.store.find(_QUOTAS, namespace, name)
        if isinstance(record, ObjectRecord):
            self._write(record, self._count_usage(record))

    def _charged_amounts(self, record: ObjectRecord) -> Amounts:
        """Return what is charged; a quota that was just written is counted first."""
        status = record.body.get("status") or {}
        if set(status.get("used") or ()) != set(self._counted(record)):
            return self._count_usage(record)
        return parse_amounts(status.get("used"))

    def _count_usage(self, record: ObjectRecord) -> Amounts:
        hard = self._counted(record)
        used: Amounts = dict.fromkeys(hard, Decimal(0))
        for resource in _resources(hard):
            kind = self._world.store.custom.kind_of(resource)
            if kind is None:
                continue
            for one in self._world.store.records(resource, record.namespace):
                for key, amount in self._usage(kind, one, record.body["spec"]).items():
                    if key in used:
                        used[key] += amount
        return used

    def _counted(self, record: ObjectRecord) -> list[str]:
        """Return the names of a quota under which anything is counted."""
        served = {*_SERVED, *self._world.store.custom.stored}
        return [one for one in record.body["spec"].get("hard") or () if is_counted(one, served)]

    def _usage(self, kind: Kind, record: Record, spec: Object) -> Amounts:
        obj = (
            _quota_view(record) if isinstance(record, PodRecord) else render(kind.resource, record)
        )
        return usage_of(kind, obj) if _is_covered(spec, kind, obj) else {}

    def _write(self, record: ObjectRecord, used: Amounts) -> None:
        hard = record.body["spec"].get("hard") or {}
        if not hard and not record.body.get("status"):
            return
        counted = self._counted(record)
        shown = {name: amount_text(name, used.get(name, Decimal(0))) for name in counted}
        set_status(self._world, _QUOTAS, record, {"hard": dict(hard), "used": shown})


def _is_covered(spec: Object, kind: Kind, obj: Object) -> bool:
    """True when a quota counts this object: all kinds, or pods of its scopes."""
    if not has_scopes(spec):
        return True
    if kind.resource != "pods":
        return False
    fixed = {key: value for key, value in obj["spec"].items() if key != "nodeName"}
    return selects(spec, obj, pod_shape(fixed).qos)


def _quota_view(pod: PodRecord) -> Object:
    """Return what a quota looks at of a pod."""
    return {"spec": pod.shape.spec, "status": {"phase": pod.phase}}


def _has_ended(change: Change) -> bool:
    pod, fields = change.record, change.previous_fields
    return isinstance(pod, PodRecord) and pod.terminal and fields is not None and fields[1] not in (
        "Succeeded", "Failed")  # fmt: skip


def _resources(names: Iterable[str]) -> list[str]:
    """Return the resources that have to be counted for these names."""
    found: dict[str, None] = {}
    for name in names:
        own = name.removeprefix("count/")
        plural = own.partition(".")[0]
        if name.startswith("count/"):
            found[plural if own in _SERVED else own] = None
        elif OF_CLASS in name or name == STORAGE:
            found["persistentvolumeclaims"] = None
        else:
            found[plural if plural in KINDS else "pods"] = None
    return list(found)
