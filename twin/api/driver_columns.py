"""The columns of kinds about drivers of storage and devices, and of components (upstream's printers.go at 1.36)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twin.api.cells import NONE, Column, Object, age_cell, name_cell, path_cell, value_at


def _audiences(obj: Object, _now: float) -> str:
    requests = value_at(obj, "spec.tokenRequests")
    return "<unset>" if requests is None else ",".join(each["audience"] for each in requests)


def _lifecycles(obj: Object, _now: float) -> str:
    return ",".join(value_at(obj, "spec.volumeLifecycleModes") or ()) or NONE


def _drivers(obj: Object, _now: float) -> int:
    return len(value_at(obj, "spec.drivers") or ())


def _claim_state(obj: Object, _now: float) -> str:
    gone = ["deleted"] if obj["metadata"].get("deletionTimestamp") else []
    if value_at(obj, "status.allocation") is None:
        return ",".join(gone or ["pending"])
    reserved = ["reserved"] if value_at(obj, "status.reservedFor") else []
    return ",".join([*gone, "allocated", *reserved])


def _health(field: str) -> Callable[[Object, float], Any]:
    def cell(obj: Object, _now: float) -> str:
        row: Object = (obj.get("conditions") or [{}])[0]
        if field == "status":
            return "Healthy" if row.get("status") == "True" else "Unhealthy"
        return str(row.get(field, ""))

    return cell


def _truth(name: str, path: str, *, unsaid: bool = False) -> Column:
    return Column(name, path_cell(path, unsaid), type="boolean")


DRIVERS: dict[str, tuple[Column, ...]] = {
    "csidrivers": (
        Column("Name", name_cell),
        _truth("AttachRequired", "spec.attachRequired", unsaid=True),
        _truth("PodInfoOnMount", "spec.podInfoOnMount"),
        _truth("StorageCapacity", "spec.storageCapacity"),
        Column("TokenRequests", _audiences),
        _truth("RequiresRepublish", "spec.requiresRepublish"),
        Column("Modes", _lifecycles),
        Column("Age", age_cell),
    ),
    "csinodes": (
        Column("Name", name_cell),
        Column("Drivers", _drivers, type="integer"),
        Column("Age", age_cell),
    ),
    "csistoragecapacities": (
        Column("Name", name_cell),
        Column("Created At", path_cell("metadata.creationTimestamp"), type="date"),
    ),
    "volumeattachments": (
        Column("Name", name_cell),
        Column("Attacher", path_cell("spec.attacher")),
        Column("PV", path_cell("spec.source.persistentVolumeName")),
        Column("Node", path_cell("spec.nodeName")),
        _truth("Attached", "status.attached"),
        Column("Age", age_cell),
    ),
    "resourceclaims": (
        Column("Name", name_cell),
        Column("State", _claim_state),
        Column("Age", age_cell),
    ),
    "resourceslices": (
        Column("Name", name_cell),
        Column("Node", path_cell("spec.nodeName")),
        Column("Driver", path_cell("spec.driver")),
        Column("Pool", path_cell("spec.pool.name")),
        Column("Age", age_cell),
    ),
    "componentstatuses": (
        Column("Name", name_cell),
        Column("Status", _health("status")),
        Column("Message", _health("message")),
        Column("Error", _health("error")),
    ),
}
