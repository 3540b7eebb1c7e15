"""Init containers in a pod's status: all waiting until the pod's containers run, then all completed.

The simulation knows only when they are done together, so each shows the time at which the kubelet
took the pod.
"""

from __future__ import annotations

from twin.records import Object, PodRecord
from twin.timestamps import rfc3339

CONFIG_ERROR = "CreateContainerConfigError"
FAILED_INIT = "init/"
"""Begins a waiting reason that is an init container's, whose name follows."""


def waiting_reason(pod: PodRecord) -> str:
    """Return why the pod's own containers wait."""
    reason = pod.container_reason
    return "PodInitializing" if reason.startswith(FAILED_INIT) else reason


def init_containers_done(pod: PodRecord) -> bool:
    """Say whether the init containers of a pod are done; a pod without any is."""
    ran = pod.container_state == "running" or pod.ended is not None
    ran = ran or pod.container_reason == CONFIG_ERROR
    return ran or not pod.shape.spec.get("initContainers")


def init_names(pod: PodRecord) -> list[str]:
    """Return the names of the init containers."""
    return [container["name"] for container in pod.shape.spec.get("initContainers") or ()]


def init_statuses(pod: PodRecord) -> list[Object]:
    """Return status.initContainerStatuses of a pod that is bound."""
    done = init_containers_done(pod)
    return [
        _status(pod, container, done=done)
        for container in pod.shape.spec.get("initContainers") or ()
    ]


def _status(pod: PodRecord, container: Object, *, done: bool) -> Object:
    name, image = container["name"], container["image"]
    identity = f"simulated://{pod.uid}/{name}"
    state: Object = {"waiting": {"reason": "PodInitializing"}}
    if pod.container_reason == f"{FAILED_INIT}{name}":
        state = {"waiting": {"reason": CONFIG_ERROR, "message": pod.container_message}}
    if done:
        at = rfc3339(pod.started_at or pod.created_at)
        ended: Object = {"exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at}
        state = {"terminated": {**ended, "containerID": identity}}
    return {
        "name": name,
        "state": state,
        "lastState": {},
        "ready": done,
        "restartCount": 0,
        "image": image,
        "imageID": f"simulated://{image}" if done else "",
        **({"containerID": identity} if done else {}),
        "started": False,
    }
