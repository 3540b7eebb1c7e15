"""What a running pod is given, as far as it may be changed in place.

Source: Kubernetes, "Resize CPU and Memory Resources assigned to Containers" (1.35) and KEP-1287. Left alone are
pods whose amounts somebody else sees to: those of another resize, of a Vertical Pod Autoscaler, of their
kubelet's files, with amounts of the whole pod, and pods of Windows.
"""

from __future__ import annotations

from services.executor.facts import ContainerFacts
from services.executor.marked_objects import MarkedMeta, MarkedPod
from services.kube_objects import Container, KubeStruct, PodStatus
from services.kube_objects import PodSpec as SharedPodSpec
from services.pod_requests import RESIZE_PENDING

IN_PROGRESS = "PodResizeInProgress"
_AUTOSCALED = ("vpaUpdates", "vpaInPlaceUpdated")
"""Annotations of the Vertical Pod Autoscaler on pods whose amounts it has written."""
RESIZABLE_QOS = frozenset({"Guaranteed", "Burstable"})


class _ResizePolicy(KubeStruct, frozen=True):
    resource_name: str = ""
    restart_policy: str = ""


class _ResizableContainer(Container, frozen=True):
    resize_policy: tuple[_ResizePolicy, ...] = ()


class _Os(KubeStruct, frozen=True):
    name: str = ""


class _Spec(SharedPodSpec, frozen=True):
    containers: tuple[_ResizableContainer, ...] = ()
    os: _Os | None = None


class _Status(PodStatus, frozen=True):
    qos_class: str = ""


class ResizablePod(MarkedPod, frozen=True):
    """A pod with what decides about a resize."""

    metadata: MarkedMeta = MarkedMeta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class ContainerUsage(KubeStruct, frozen=True):
    """containers[] of PodMetrics."""

    name: str = ""
    usage: dict[str, str] = {}


class PodMetrics(KubeStruct, frozen=True):
    """metrics.k8s.io PodMetrics."""

    timestamp: str = ""
    window: str = ""
    containers: tuple[ContainerUsage, ...] = ()


class ServedResource(KubeStruct, frozen=True):
    """resources[] of an APIResourceList."""

    name: str = ""


class ServedResources(KubeStruct, frozen=True):
    """What the core group serves."""

    resources: tuple[ServedResource, ...] = ()


class ServerVersion(KubeStruct, frozen=True):
    """/version."""

    major: str = ""
    minor: str = ""

    def at_least(self, minor: int) -> bool:
        """Say whether it is Kubernetes 1.`minor` or later; what cannot be read is not."""
        digits = self.minor.rstrip("+")
        return self.major == "1" and digits.isdecimal() and int(digits) >= minor


def container_facts(pod: ResizablePod) -> tuple[ContainerFacts, ...]:
    """Return what a pod's containers are given; nothing where its amounts are not ours to change."""
    busy = any(
        one.type in {RESIZE_PENDING, IN_PROGRESS} and one.status == "True"
        for one in pod.status.conditions
    )
    others = any(name in pod.metadata.annotations for name in _AUTOSCALED)
    windows = pod.spec.os is not None and pod.spec.os.name == "windows"
    own = pod.static or pod.spec.resources is not None or pod.status.phase != "Running"
    if busy or others or windows or own or pod.status.qos_class not in RESIZABLE_QOS:
        return ()
    return tuple(
        ContainerFacts(
            name=one.name,
            requests=one.resources.requests,
            limits=one.resources.limits,
            restarts_for=tuple(
                policy.resource_name
                for policy in one.resize_policy
                if policy.restart_policy == "RestartContainer"
            ),
        )
        for one in pod.spec.containers
    )
