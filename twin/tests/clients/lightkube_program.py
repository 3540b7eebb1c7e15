"""A program of somebody who uses lightkube."""

from __future__ import annotations

import json
import sys
from typing import Any

from lightkube import ApiError, Client, KubeConfig
from lightkube.models.core_v1 import ConfigMap as _Model
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Event, Namespace, Node, Pod
from lightkube.types import PatchType


def main(kubeconfig: str) -> dict[str, Any]:
    """List, watch, apply, patch, delete."""
    client = Client(KubeConfig.from_file(kubeconfig), field_manager="tester")
    client.create(Namespace(metadata=ObjectMeta(name="client")))
    assert _Model is not None
    body = ConfigMap(metadata=ObjectMeta(name="a", namespace="client"), data={"a": "1"})
    client.apply(body)
    events = []
    for kind, obj in client.watch(ConfigMap, namespace="client", fields={"metadata.name": "a"}):
        events.append(kind)
        if kind == "DELETED":
            break
        if len(events) == 1:
            change = {"data": {"b": "2"}}
            client.patch(ConfigMap, "a", change, namespace="client", patch_type=PatchType.MERGE)
        else:
            assert obj.data == {"a": "1", "b": "2"}
            client.delete(ConfigMap, "a", namespace="client")
    try:
        client.get(ConfigMap, "a", namespace="client")
        gone = 0
    except ApiError as error:
        gone = error.status.code
    return {
        "nodes": len(list(client.list(Node, chunk_size=3))),
        "pods": len(list(client.list(Pod, namespace="*"))),
        "deployments": len(list(client.list(Deployment, namespace="*"))),
        "reported": len(list(client.list(Event, namespace="*"))),
        "events": events,
        "gone": gone,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])) + "\n")
