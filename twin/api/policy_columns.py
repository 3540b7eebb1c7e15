"""The columns of admission policies (kubernetes pkg/printers/internalversion/printers.go)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twin.api.cells import Column, Object, age_cell, path_cell, value_at

_UNSET = "<unset>"


def _param_kind(obj: Object, _now: float) -> str:
    kind = value_at(obj, "spec.paramKind")
    return f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else _UNSET


def _param_ref(obj: Object, _now: float) -> str:
    reference: Any = value_at(obj, "spec.paramRef")
    if not reference:
        return _UNSET
    if not reference.get("name"):
        return _selector(reference.get("selector") or {})
    return f"{reference.get('namespace') or '*'}/{reference['name']}"


def _selector(selector: Object) -> str:
    """Return a selector as Go prints one; of its expressions only that there are any."""
    labels = selector.get("matchLabels") or {}
    pairs = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    more = "..." if selector.get("matchExpressions") else ""
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{more}}},}}"
    )


_BINDING = (
    Column("PolicyName", path_cell("spec.policyName")),
    Column("ParamRef", _param_ref),
    Column("Age", age_cell),
)
POLICIES: Mapping[str, tuple[Column, ...]] = {
    "validatingadmissionpolicies": (
        Column(
            "Validations",
            lambda obj, _now: len(value_at(obj, "spec.validations") or ()),
            type="integer",
        ),
        Column("ParamKind", _param_kind),
        Column("Age", age_cell),
    ),
    "validatingadmissionpolicybindings": _BINDING,
}
