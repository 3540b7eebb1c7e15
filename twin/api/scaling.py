"""The scale subresource: reading and writing `spec.replicas` as a Scale object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from twin.api.messages import Object
from twin.custom.json_paths import values_at
from twin.errors import ApiError, invalid
from twin.kinds import Kind
from twin.selectors import selector_text


def to_scale(obj: Object) -> Object:
    """Return the Scale of a workload."""
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": _scale_metadata(obj),
        "spec": _spec(obj["spec"].get("replicas", 0)),
        "status": {
            "replicas": obj.get("status", {}).get("replicas", 0),
            "selector": selector_text(obj["spec"].get("selector") or {}),
        },
    }


def _spec(replicas: int) -> Object:
    """Return the spec of a Scale: none is left out."""
    return {"replicas": replicas} if replicas else {}


def with_scale(obj: Object, scale: Object) -> Object:
    """Return the object with the replicas of a Scale; raises ApiError 422."""
    replicas: Any = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
        why = f"Invalid value: {json.dumps(replicas)}: must be greater than or equal to 0"
        raise invalid("Scale", "autoscaling", obj["metadata"]["name"], [("spec.replicas", why)])
    metadata = _with_version(obj, scale)
    return {**obj, "metadata": metadata, "spec": {**obj["spec"], "replicas": replicas}}


def _with_version(obj: Object, scale: Object) -> Object:
    """Return the object's metadata with the version that a Scale names, or none."""
    metadata = dict(obj["metadata"])
    resource_version = (scale.get("metadata") or {}).get("resourceVersion")
    uid = (scale.get("metadata") or {}).get("uid")
    if uid:
        metadata["uid"] = uid
    if resource_version:
        metadata["resourceVersion"] = resource_version
    else:
        metadata.pop("resourceVersion", None)
    return metadata


def _scale_metadata(obj: Object) -> Object:
    metadata = obj["metadata"]
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {name: metadata[name] for name in names if name in metadata}


def to_custom_scale(obj: Object, paths: Mapping[str, str]) -> Object:
    """Return the Scale of a custom resource; raises ApiError 500 when it has no number of replicas."""
    replicas = values_at(obj, paths["specReplicasPath"])
    if not replicas or not isinstance(replicas[0], int):
        path = paths["specReplicasPath"]
        message = (
            f"Internal error occurred: the spec replicas field {json.dumps(path)} does not exist"
        )
        raise ApiError(500, "InternalError", message)
    status = values_at(obj, paths["statusReplicasPath"])
    selectors = values_at(obj, paths.get("labelSelectorPath") or "")
    selector = {"selector": selectors[0]} if selectors and isinstance(selectors[0], str) else {}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": _scale_metadata(obj),
        "spec": _spec(replicas[0]),
        "status": {"replicas": status[0] if status else 0, **selector},
    }


def with_custom_scale(obj: Object, kind: Kind, paths: Mapping[str, str], scale: Object) -> Object:
    """Return a custom resource with the replicas of a Scale; raises ApiError 422."""
    replicas: Any = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
        why = f"Invalid value: {json.dumps(replicas)}: should be a non-negative integer"
        raise invalid(kind.kind, kind.group, obj["metadata"]["name"], [("spec.replicas", why)])
    changed = {**obj, "metadata": _with_version(obj, scale)}
    place = changed
    *above, last = paths["specReplicasPath"].strip(".").split(".")
    for name in above:
        place[name] = dict(place.get(name) or {})
        place = place[name]
    place[last] = replicas
    return changed
