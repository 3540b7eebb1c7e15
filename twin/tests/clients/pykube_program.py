"""A program of somebody who uses pykube."""

from __future__ import annotations

import json
import sys
from typing import Any

import pykube


def main(kubeconfig: str) -> dict[str, Any]:
    """List, create, update, scale, delete."""
    api = pykube.HTTPClient(pykube.KubeConfig.from_file(kubeconfig))
    kind = {"apiVersion": "v1", "kind": "Namespace"}
    pykube.Namespace(api, {**kind, "metadata": {"name": "client"}}).create()
    body = {"apiVersion": "v1", "kind": "ConfigMap"}
    body |= {"metadata": {"name": "a", "namespace": "client"}, "data": {"a": "1"}}
    config_map = pykube.ConfigMap(api, body)
    config_map.create()
    config_map.obj["data"]["b"] = "2"
    config_map.update()
    config_map.reload()
    seen = {
        "nodes": len(list(pykube.Node.objects(api))),
        "pods": len(list(pykube.Pod.objects(api).filter(namespace=pykube.all))),
        "data": config_map.obj["data"],
    }
    config_map.delete()
    seen["gone"] = not config_map.exists()
    return seen


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])) + "\n")
