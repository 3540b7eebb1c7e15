"""A program of somebody who uses kr8s."""

from __future__ import annotations

import json
import sys
from typing import Any

import kr8s
from kr8s.objects import ConfigMap, Deployment, Namespace

from tests.patience import HANGS_SECONDS


def main(kubeconfig: str) -> dict[str, Any]:
    """Look up, create, patch, scale, wait, delete."""
    api = kr8s.api(kubeconfig=kubeconfig)
    Namespace({"metadata": {"name": "client"}}, api=api).create()
    body = {"metadata": {"name": "a", "namespace": "client"}, "data": {"a": "1"}}
    config_map = ConfigMap(body, api=api)
    config_map.create()
    config_map.patch({"data": {"b": "2"}})
    config_map.refresh()
    labels = {"app": "web"}
    container = {"name": "c", "image": "rancher/mirrored-pause:3.10"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    made = Deployment({"metadata": {"name": "web", "namespace": "client"}, "spec": spec}, api=api)
    made.create()
    made.wait("condition=Available", timeout=HANGS_SECONDS)
    made.scale(2)
    seen = {
        "version": api.version()["gitVersion"],
        "nodes": len(list(api.get("nodes"))),
        "pods": len(list(api.get("pods", namespace=kr8s.ALL))),
        "data": config_map.raw["data"],
        "replicas": made.replicas,
        "own": len(list(api.get("pods", namespace="client", label_selector="app=web"))),
    }
    made.delete()
    config_map.delete()
    seen["gone"] = not config_map.exists()
    return seen


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1]), default=dict) + "\n")
