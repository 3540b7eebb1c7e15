"""The scale subresource: reading and writing `spec.replicas` as a Scale object."""

from __future__ import annotations

from typing import Any

from twin.api.messages import Object
from twin.errors import invalid


def to_scale(obj: Object) -> Object:
    """Return the Scale of a Deployment or ReplicaSet."""
    metadata = obj["metadata"]
    labels = obj["spec"].get("selector", {}).get("matchLabels", {})
    scale_metadata = {
        name: metadata[name]
        for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if name in metadata
    }
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": scale_metadata,
        "spec": {"replicas": obj["spec"].get("replicas", 0)},
        "status": {
            "replicas": obj.get("status", {}).get("replicas", 0),
            "selector": ",".join(f"{name}={value}" for name, value in sorted(labels.items())),
        },
    }


def with_scale(obj: Object, scale: Object) -> Object:
    """Return the object with the replicas of a Scale; raises ApiError 422."""
    replicas: Any = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
        raise invalid(
            "Scale",
            "autoscaling",
            obj["metadata"]["name"],
            [("spec.replicas", "must be greater than or equal to 0")],
        )
    metadata = dict(obj["metadata"])
    resource_version = (scale.get("metadata") or {}).get("resourceVersion")
    if resource_version:
        metadata["resourceVersion"] = resource_version
    else:
        metadata.pop("resourceVersion", None)
    return {**obj, "metadata": metadata, "spec": {**obj["spec"], "replicas": replicas}}
