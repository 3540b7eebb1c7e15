"""The APIServices of the API server's own groups.

Source: kubernetes/kubernetes pkg/controlplane/apiserver/aggregator.go at 1.36 (priorities), and
staging/src/k8s.io/kube-aggregator pkg/controllers/autoregister (label).
"""

from __future__ import annotations

from twin.bootstrap.priorities import GROUP_PRIORITIES, VERSION_PRIORITIES
from twin.records import Object
from twin.store import Store
from twin.timestamps import rfc3339

_LABELS = {"kube-aggregator.kubernetes.io/automanaged": "onstart"}


def add_own_api_services(store: Store) -> None:
    """Create them, available as they are from the start."""
    for (group, version), priority in VERSION_PRIORITIES.items():
        spec: Object = {
            "groupPriorityMinimum": GROUP_PRIORITIES[group],
            "version": version,
            "versionPriority": priority,
        }
        if group:
            spec["group"] = group
        condition = {
            "type": "Available",
            "status": "True",
            "reason": "Local",
            "message": "Local APIServices are always available",
            "lastTransitionTime": rfc3339(store.now()),
        }
        head = {"name": f"{version}.{group}", "labels": _LABELS}
        status = {"conditions": [condition]}
        store.create("apiservices", "", {"metadata": head, "spec": spec, "status": status})
