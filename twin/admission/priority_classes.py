"""PriorityClass objects: what every API server has, and the checks of those that users make.

Upstream: pkg/apis/scheduling/validation/validation.go and pkg/apis/scheduling/v1/helpers.go.
"""

from __future__ import annotations

from twin.admission.findings import Findings
from twin.records import Object

PREEMPT_LOWER = "PreemptLowerPriority"
HIGHEST_USER_VALUE = 1_000_000_000
_SYSTEM_PREFIX = "system-"
SYSTEM_CLASSES: tuple[Object, ...] = (
    {
        "metadata": {"name": "system-node-critical"},
        "value": 2_000_001_000,
        "description": "Used for system critical pods that must not be moved from their current "
        "node.",
    },
    {
        "metadata": {"name": "system-cluster-critical"},
        "value": 2_000_000_000,
        "description": "Used for system critical pods that must run in the cluster, but can be "
        "moved to another node if necessary.",
    },
)
"""What every API server has from its start on."""
_SYSTEM_VALUES: dict[str, int] = {
    entry["metadata"]["name"]: entry["value"] for entry in SYSTEM_CLASSES
}


def check_class(obj: Object, findings: Findings) -> None:
    """Default and check a PriorityClass in place."""
    value, name = obj.get("value", 0), obj["metadata"].get("name", "")
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**31) <= value < 2**31:
        findings.bad("value", value, "must be a 32-bit integer")
        return
    obj["value"] = value
    policy = obj.setdefault("preemptionPolicy", PREEMPT_LOWER)
    if policy not in (PREEMPT_LOWER, "Never"):
        text = f'Unsupported value: "{policy}": supported values: "Never", "{PREEMPT_LOWER}"'
        findings.add("preemptionPolicy", text)
    if name.startswith(_SYSTEM_PREFIX):
        wrong = _wrong_system_class(name, value, bool(obj.get("globalDefault")))
        if wrong:
            findings.add(
                "metadata.name",
                f"Forbidden: priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for "
                f"system use only. error: {wrong}",
            )
    elif value > HIGHEST_USER_VALUE:
        findings.add(
            "value",
            f"Forbidden: maximum allowed value of a user defined priority is {HIGHEST_USER_VALUE}",
        )


def check_class_unchanged(old: Object, new: Object, findings: Findings) -> None:
    """Check the immutable fields of a PriorityClass."""
    if old.get("value") != new.get("value"):
        findings.add("value", "Forbidden: may not be changed in an update.")
    if old.get("preemptionPolicy") != new.get("preemptionPolicy"):
        findings.bad("preemptionPolicy", new.get("preemptionPolicy"), "field is immutable")


def _wrong_system_class(name: str, value: int, is_default: bool) -> str:
    if name not in _SYSTEM_VALUES:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM_VALUES[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM_VALUES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""
