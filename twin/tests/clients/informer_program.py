"""An informer of the official client, over a server that comes back: what it has seen of ConfigMaps.

It answers each line of its input with a line of JSON: `names` has what it knows, `heard` what it told of.
"""

from __future__ import annotations

import json
import sys

from kubernetes import client, config
from kubernetes.informer import ADDED, DELETED, MODIFIED, SharedInformer


def main(kubeconfig: str) -> None:
    """Run the informer until the input ends."""
    config.load_kube_config(kubeconfig)
    core = client.CoreV1Api()
    heard: list[tuple[str, str]] = []
    informer = SharedInformer(list_func=core.list_namespaced_config_map, namespace="default")
    for kind in (ADDED, MODIFIED, DELETED):
        informer.add_event_handler(
            kind, lambda one, kind=kind: heard.append((kind, one.metadata.name))
        )
    informer.start()
    for _ in sys.stdin:
        names = sorted(one.metadata.name for one in informer.cache.list())
        sys.stdout.write(json.dumps({"names": names, "heard": heard}) + "\n")
        sys.stdout.flush()
    informer.stop()


if __name__ == "__main__":
    main(sys.argv[1])
