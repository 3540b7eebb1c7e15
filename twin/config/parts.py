"""Built-in parts of the control plane that can be left out, so that a user's own program does their work."""

from __future__ import annotations

from collections.abc import Iterable

CONTROLLERS = {
    "hpa": "horizontalpodautoscalers",
    "vpa": "verticalpodautoscalers",
    "deployment": "deployments",
    "replicaset": "replicasets",
    "statefulset": "statefulsets",
    "daemonset": "daemonsets",
    "job": "jobs",
    "cronjob": "cronjobs",
    "disruption": "poddisruptionbudgets",
    "endpointslice": "services",
    "persistentvolume-binder": "persistentvolumeclaims",
}
"""Controllers by the names that kube-controller-manager has for them (`--controllers`), shortened, and the resource
that each looks after."""
SCHEDULER, CONTROLLER_MANAGER = "scheduler", "controller-manager"
"""kube-scheduler, and all of kube-controller-manager's controllers above."""
NAMES = (SCHEDULER, CONTROLLER_MANAGER, *CONTROLLERS)


def unknown_parts(names: Iterable[str]) -> list[str]:
    """Return the names that are no part's."""
    return [name for name in names if name not in NAMES]


def resources_without(names: Iterable[str]) -> tuple[str, ...]:
    """Return the resources that nobody looks after when these parts are left out."""
    left_out = set(names)
    if CONTROLLER_MANAGER in left_out:
        left_out |= CONTROLLERS.keys() - {"vpa"}
    return tuple(resource for name, resource in CONTROLLERS.items() if name in left_out)
