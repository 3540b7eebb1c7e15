"""Pods whose volumes or variables cannot be set up: they wait, say why, and go on when they can.

A volume is tried again after 0.5, 1, 2 ... 122 s (pkg/util/goroutinemap/exponentialbackoff), a container
with the next look at its pod, after 10 s (pkg/kubelet/kubelet.go backOffPeriod).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from twin.behaviour.references import missing_in_variables, missing_in_volumes, refers
from twin.records import NodeRecord, ObjectRecord, PodRecord
from twin.render.init_containers import CONFIG_ERROR, FAILED_INIT
from twin.volumes.rules import ephemeral_name, is_fully_bound
from twin.world import World

FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.5, 122.0
CONFIG_RETRY_SECONDS = 10.0

_COMPONENT = "kubelet"
Prepare = Callable[[PodRecord, NodeRecord], None]


class Mounts:
    """Sets up what pods refer to; remembers nothing: plans carry how often they were tried."""

    def __init__(self, world: World, prepare: Prepare, attempt: Callable[[str], int]) -> None:
        """Call `prepare` with a pod once its volumes are there; `attempt` numbers its starts."""
        self._world = world
        self._prepare = prepare
        self._attempt = attempt
        world.clock.handle("mounts.retry", self._retry)

    def prepare(self, pod: PodRecord, node: NodeRecord) -> None:
        """Set up the volumes of a pod, then go on with its images; or try again later."""
        self._set_up(pod, node, 0)

    def config_problem(self, pod: PodRecord) -> bool:
        """Say whether a container cannot be made for want of a variable's source, and show it."""
        spec = pod.shape.spec
        if not refers(spec):
            return False
        inits = [] if pod.ended is not None else list(spec.get("initContainers") or ())
        name, text = missing_in_variables(
            [*inits, *spec["containers"]], pod.namespace, self._look(pod)
        )
        if not text:
            return False
        initial = any(container["name"] == name for container in inits)
        self._show(pod, f"{FAILED_INIT}{name}" if initial else CONFIG_ERROR, text)
        self._report(pod, "Failed", f"Error: {text}")
        return True

    def _set_up(self, pod: PodRecord, node: NodeRecord, failures: int) -> None:
        text = self._volume_problem(pod)
        if not text:
            self._prepare(pod, node)
            return
        self._report(pod, "FailedMount", text)
        delay = min(FIRST_RETRY_SECONDS * 2.0 ** min(failures, 16), LAST_RETRY_SECONDS)
        number = self._attempt(pod.uid)
        self._world.clock.after(delay, "mounts.retry", pod.uid, number, failures + 1)

    def _retry(self, uid: str, number: int, failures: int) -> None:
        pod = self._world.pods.get(uid)
        if (
            pod is None
            or pod.terminal
            or pod.deletion_at is not None
            or number != self._attempt(uid)
        ):
            return
        node = self._world.node(pod.node_name)
        if node is not None and self._world.up(pod.node_name):
            self._set_up(pod, node, failures)

    def _volume_problem(self, pod: PodRecord) -> str:
        spec = pod.shape.spec
        if not spec.get("volumes"):
            return ""
        for volume in spec["volumes"]:
            problem = self._claim_problem(pod, volume)
            if problem:
                name = volume["name"]
                return (
                    f"Unable to attach or mount volumes: unmounted volumes=[{name}], unattached "
                    f"volumes=[], failed to process volumes=[{name}]: {problem}"
                )
        name, text = missing_in_volumes(spec, self._look(pod))
        return f'MountVolume.SetUp failed for volume "{name}" : {text}' if text else ""

    def _claim_problem(self, pod: PodRecord, volume: Mapping[str, Any]) -> str:
        source = volume.get("persistentVolumeClaim")
        if not source and not volume.get("ephemeral"):
            return ""
        name = source["claimName"] if source else ephemeral_name(pod.name, dict(volume))
        claim = self._world.store.find("persistentvolumeclaims", pod.namespace, name)
        where = f"error processing PVC {pod.namespace}/{name}: "
        if not isinstance(claim, ObjectRecord):
            missing = f'persistentvolumeclaims "{name}" not found'
            return f"{where}failed to fetch PVC from API server: {missing}"
        return "" if is_fully_bound(claim) else f"{where}PVC is not bound"

    def _look(self, pod: PodRecord) -> Callable[[str, str], Mapping[str, Any] | None]:
        def look(resource: str, name: str) -> Mapping[str, Any] | None:
            found = self._world.store.find(resource, pod.namespace, name)
            return found.body if isinstance(found, ObjectRecord) else None

        return look

    def _show(self, pod: PodRecord, reason: str, message: str) -> None:
        if (pod.container_reason, pod.container_message) != (reason, message):
            before = pod.clone()
            pod.container_reason, pod.container_message = reason, message
            self._world.store.touch("pods", pod, before)

    def _report(self, pod: PodRecord, reason: str, text: str) -> None:
        self._world.reporter.report(pod, "Pod", reason, text, _COMPONENT, warns=True)
