"""Requests and limits of pods and containers: defaults and checks.

Upstream: pkg/apis/core/validation/validation.go of kubernetes/kubernetes.
"""

from __future__ import annotations

from inputs.quantities import canonical_text, parse_quantity
from twin.admission import metadata
from twin.admission.findings import Findings
from twin.records import Object

_OF_CONTAINERS = ("cpu", "memory", "ephemeral-storage")
_OF_OTHERS = frozenset(
    {
        *("storage", "pods", "services", "replicationcontrollers", "resourcequotas", "secrets"),
        *("configmaps", "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
        *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _OF_CONTAINERS),
        "requests.storage",
    }
)
"""Standard names that mean something, but not of a container."""
STANDARD = _OF_OTHERS | {*_OF_CONTAINERS}
"""Names of resources that need no prefix."""
_HUGE = "hugepages-"


def default_requests(spec: Object) -> None:
    """Request in a pod's own spec what is limited and not requested; in a template that is left to its pods."""
    parts = [spec] if spec.get("resources") else []
    for kind in ("containers", "initContainers"):
        parts += spec.get(kind) or ()
    for part in parts:
        resources = part.get("resources") or {}
        if resources.get("limits"):
            resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}


def check_amounts(resources: Object, findings: Findings, path: str) -> None:
    """Check `resources` of a container."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    before = len(findings.causes)
    findings.quantities(f"{path}.limits", limits)
    findings.quantities(f"{path}.requests", requests)
    if len(findings.causes) > before:
        return
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            _check_amount(name, amount, findings, f"{path}.{field}[{name}]")
    _check_pairs(requests, limits, findings, path)
    if not {"cpu", "memory"} & {*limits, *requests} and any(
        name.startswith(_HUGE) for name in (*limits, *requests)
    ):
        findings.forbid(path, "HugePages require cpu or memory")


def _check_amount(name: str, amount: str, findings: Findings, path: str) -> None:
    problem = metadata.key_problem(name)
    if problem:
        findings.bad(path, name, problem)
        return
    if "/" in name:
        if parse_quantity(amount) % 1 and not name.partition("/")[0].endswith("kubernetes.io"):
            findings.bad(path, canonical_text(amount), "must be an integer")
    elif name not in _OF_CONTAINERS and not name.startswith(_HUGE):
        if name not in _OF_OTHERS:
            findings.bad(path, name, "must be a standard resource type or fully qualified")
        findings.bad(path, name, "must be a standard resource for containers")


def _check_pairs(requests: Object, limits: Object, findings: Findings, path: str) -> None:
    for name, limit in limits.items():
        stated = requests.get(name, limit)
        if name in _OF_CONTAINERS and parse_quantity(stated) > parse_quantity(limit):
            why = f"must be less than or equal to {name} limit of {limit}"
            findings.bad(f"{path}.requests", str(requests[name]), why)
    for name, request in requests.items():
        if name in _OF_CONTAINERS or not ("/" in name or name.startswith(_HUGE)):
            continue
        if name not in limits:
            findings.require(f"{path}.limits", "Limit must be set for non overcommitable resources")
        elif parse_quantity(request) != parse_quantity(limits[name]):
            why = f"must be equal to {name} limit of {limits[name]}"
            findings.bad(f"{path}.requests", str(request), why)
