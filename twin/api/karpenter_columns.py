"""The columns of NodePools and NodeClaims (karpenter pkg/apis/crds, additionalPrinterColumns; v1.13.0)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Object = dict[str, Any]
Read = Callable[[Object, float], Any]
Row = tuple[str, Read, bool, str]


def _path(path: str) -> Read:
    def value(obj: Object, _now: float) -> Any:
        found: Any = obj
        for key in path.split("."):
            found = (found or {}).get(key)
        return "" if found is None else found

    return value


def _label(key: str) -> Read:
    return lambda obj, _now: (obj["metadata"].get("labels") or {}).get(key, "")


def _condition(kind: str) -> Read:
    def status(obj: Object, _now: float) -> str:
        rows = (obj.get("status") or {}).get("conditions") or ()
        return next((row["status"] for row in rows if row["type"] == kind), "")

    return status


def _row(name: str, read: Read, type_: str = "string", *, wide: bool = False) -> Row:
    return (name, read, wide, type_)


KARPENTER: dict[str, tuple[Row, ...]] = {
    "nodepools": (
        _row("NodeClass", _path("spec.template.spec.nodeClassRef.name")),
        _row("Nodes", _path("status.nodes")),
        _row("Ready", _condition("Ready")),
        _row("Weight", _path("spec.weight"), "integer", wide=True),
        _row("CPU", _path("status.resources.cpu"), wide=True),
        _row("Memory", _path("status.resources.memory"), wide=True),
    ),
    "nodeclaims": (
        _row("Type", _label("node.kubernetes.io/instance-type")),
        _row("Capacity", _label("karpenter.sh/capacity-type")),
        _row("Zone", _label("topology.kubernetes.io/zone")),
        _row("Node", _path("status.nodeName")),
        _row("Ready", _condition("Ready")),
        _row("ImageID", _path("status.imageID"), wide=True),
        _row("ID", _path("status.providerID"), wide=True),
        _row("NodePool", _label("karpenter.sh/nodepool"), wide=True),
        _row("NodeClass", _path("spec.nodeClassRef.name"), wide=True),
        _row("Drifted", _condition("Drifted"), wide=True),
    ),
}
"""By resource: name, reader, whether only `-o wide` shows it, and type; Age stands after the narrow ones."""
