"""Pods that an earlier stack of ours gave less, and what their owners gave them. Pure.

A resize leaves no annotation: its subresource takes none. The API server notes who wrote which amount
(`metadata.managedFields`), and the template of a pod's owner says what the amount was. Source: Kubernetes, "Server-Side
Apply" (field management); "Resize CPU and Memory Resources assigned to Containers".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from schemas.actions import MemoryBalloonAction, Target, TargetKind, ThrottleAction
from schemas.left_behind import LeftBehind
from schemas.outcome import Operation, Verb
from services.executor.field_owners import FieldOwner
from services.executor.left_behind import FULL
from services.executor.marked_objects import MarkedMeta, MarkedPod
from services.executor.plans.planned import canonical_json
from services.executor.plans.resize import RESIZE
from services.executor.resizing import Amounts, resize_patch
from services.kube_objects import (
    CPU,
    FIELD_MANAGER,
    Container,
    KubeStruct,
    PodSpec,
    ResourceRequirements,
)
from services.quantities import parse_quantity

SUBRESOURCE = "resize"


class ResizeOwner(FieldOwner, frozen=True):
    """metadata.managedFields[] with the subresource that it was written through."""

    subresource: str = ""


class _OwnedMeta(MarkedMeta, frozen=True):
    managed_fields: tuple[ResizeOwner, ...] = ()


class OwnedPod(MarkedPod, frozen=True):
    """A pod with who wrote its fields."""

    metadata: _OwnedMeta = _OwnedMeta()


class _Template(KubeStruct, frozen=True):
    spec: PodSpec = PodSpec()


class _TemplatedSpec(KubeStruct, frozen=True):
    template: _Template = _Template()


class PodOwner(KubeStruct, frozen=True):
    """What makes pods, of which only the template is read."""

    spec: _TemplatedSpec = _TemplatedSpec()


def resized_amounts(pod: OwnedPod) -> dict[str, Amounts]:
    """Return, by container, the amounts as they are now that we wrote last."""
    found: dict[str, Amounts] = {}
    containers = {one.name: one for one in pod.spec.containers}
    for owner in pod.metadata.managed_fields:
        if owner.manager == FIELD_MANAGER and owner.subresource == SUBRESOURCE:
            for name, field, resource in _written(owner.fields_v1):
                now = _amounts(containers.get(name, Container()).resources)[field].get(resource)
                if now is not None:
                    found.setdefault(name, {}).setdefault(field, {})[resource] = now
    return found


def _written(fields: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    """Return container, `requests` or `limits`, and resource of each amount among written fields."""
    containers = _inner(_inner(fields, "f:spec"), "f:containers")
    for key, content in containers.items():
        name = _container_of(key)
        resources = _inner(content, "f:resources")
        for field in ("requests", "limits"):
            for resource in _inner(resources, f"f:{field}"):
                if name and resource.startswith("f:"):
                    yield name, field, resource.removeprefix("f:")


def _inner(fields: object, step: str) -> Mapping[str, object]:
    inner = fields.get(step) if isinstance(fields, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _container_of(key: str) -> str:
    """Return the name in a key such as `k:{"name":"web"}`; empty: it is none."""
    try:
        content = json.loads(key.removeprefix("k:"))
    except ValueError:
        return ""
    name = content.get("name") if isinstance(content, dict) else None
    return name if isinstance(name, str) else ""


def left_on_pod(pod: OwnedPod, owner: PodOwner | None) -> LeftBehind | str | None:
    """Return a resize of ours that stands, and what its owner's template gives; in words why it cannot be taken back;
    None: it has what its owner gave it.
    """
    ours = resized_amounts(pod)
    given = {} if owner is None else {one.name: one for one in owner.spec.template.spec.containers}
    patch: dict[str, Amounts] = {}
    former: dict[str, Amounts] = {}
    unknown = False
    for name, amounts in ours.items():
        template = _amounts(given.get(name, Container()).resources)
        for field, values in amounts.items():
            for resource, now in values.items():
                before = template[field].get(resource)
                unknown |= before is None
                if before is None or parse_quantity(before) == parse_quantity(now):
                    continue
                patch.setdefault(name, {}).setdefault(field, {})[resource] = now
                former.setdefault(name, {}).setdefault(field, {})[resource] = before
    what = f"pod {pod.metadata.namespace}/{pod.metadata.name}"
    if not patch:
        return f"{what} was resized, and no template says from what" if unknown else None
    changes = ", ".join(
        f"{name} {field} {resource} {now} instead of {former[name][field][resource]}"
        for name, amounts in patch.items()
        for field, values in amounts.items()
        for resource, now in values.items()
    )
    text = f"{what} resized: {changes}"
    operation = Operation(
        verb=Verb.RESIZE,
        resource="pods",
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        resource_version=pod.metadata.resource_version,
        patch=canonical_json(resize_patch(patch)),
        undo=canonical_json(resize_patch(former)),
        text=text,
    )
    target = Target(kind=TargetKind.NODE, name=pod.spec.node_name)
    of_cpu = any(CPU in values for amounts in patch.values() for values in amounts.values())
    action: ThrottleAction | MemoryBalloonAction = (
        ThrottleAction(target=target, cpu_cap_ratio=FULL)
        if of_cpu
        else MemoryBalloonAction(target=target, memory_scale_ratio=FULL)
    )
    return LeftBehind(
        part=0,
        action=action,
        direction="limit",
        means=RESIZE,
        operations=(operation,),
        text=text,
    )


def _amounts(resources: ResourceRequirements) -> dict[str, dict[str, str]]:
    return {"requests": resources.requests, "limits": resources.limits}
