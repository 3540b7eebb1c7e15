"""How many more pods of one kind a namespace's ResourceQuotas let in.

Quotas with scopes count only where the scope surely holds the pods; the API server enforces the others when
pods are created. Source: Kubernetes, "Resource Quotas".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal

from inputs.quantities import parse_quantity
from services.executor.facts import QuotaHeadroom
from services.kube_objects import CPU, MEMORY, KubeStruct, Meta, PodSpec
from services.pod_requests import template_amount

NOT_BEST_EFFORT = "NotBestEffort"
COUNTED = frozenset({"NotTerminating", NOT_BEST_EFFORT})
"""Scopes that hold a Deployment's pods (the latter if they ask for anything)."""
PODS = ("pods", "count/pods")


class ScopeSelector(KubeStruct, frozen=True):
    """spec.scopeSelector of a ResourceQuota."""

    match_expressions: tuple[dict[str, object], ...] = ()


class QuotaSpec(KubeStruct, frozen=True):
    """spec of a ResourceQuota."""

    hard: dict[str, str] = {}
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector = ScopeSelector()


class QuotaStatus(KubeStruct, frozen=True):
    """status of a ResourceQuota."""

    used: dict[str, str] = {}


class Quota(KubeStruct, frozen=True):
    """A ResourceQuota."""

    metadata: Meta = Meta()
    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()


def room_for(spec: PodSpec, quotas: Iterable[Quota]) -> QuotaHeadroom | None:
    """Return how many more pods of `spec` fit, and which quota says so; None where none limits them.

    Raises:
        ValueError: an amount is not a Kubernetes quantity.
    """
    rooms = [room for quota in quotas if _counts(spec, quota) for room in _rooms(spec, quota)]
    return min(rooms, key=lambda room: (room.pods, room.text), default=None)


def _counts(spec: PodSpec, quota: Quota) -> bool:
    scopes = quota.spec.scopes
    if quota.spec.scope_selector.match_expressions or not COUNTED.issuperset(scopes):
        return False
    resources = [container.resources for container in spec.containers]
    best_effort = not any(asked.requests or asked.limits for asked in resources)
    return not (best_effort and NOT_BEST_EFFORT in scopes)


def _rooms(spec: PodSpec, quota: Quota) -> Iterator[QuotaHeadroom]:
    for name, hard in quota.spec.hard.items():
        each = _amount_of_one(spec, name)
        if each > 0:
            used = quota.status.used.get(name, "0")
            left = parse_quantity(hard) - parse_quantity(used)
            text = f"quota {quota.metadata.name} has {used} of {hard} {name} in use"
            yield QuotaHeadroom(pods=max(0, int(left // each)), text=text)


def _amount_of_one(spec: PodSpec, name: str) -> Decimal:
    """Return what one pod uses of a resource, under the name that quotas give it; 0 where it asks for none."""
    if name in PODS:
        return Decimal(1)
    field, _, resource = (
        name.partition(".") if name not in (CPU, MEMORY) else ("requests", "", name)
    )
    if field not in {"requests", "limits"}:
        return Decimal(0)
    return template_amount(spec, resource, "limits" if field == "limits" else "requests")
