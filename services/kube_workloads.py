"""Workloads, what scales them and what they serve, with the few fields that we read; see `kube_objects`."""

from __future__ import annotations

from services.kube_objects import Condition, KubeStruct, Meta


class TemplateMeta(KubeStruct, frozen=True):
    """metadata of a pod template."""

    labels: dict[str, str] = {}


class PodTemplate(KubeStruct, frozen=True):
    """spec.template, of which only the labels are read."""

    metadata: TemplateMeta = TemplateMeta()


class DeploymentSpec(KubeStruct, frozen=True):
    """spec of a Deployment."""

    replicas: int = 1
    paused: bool = False
    template: PodTemplate = PodTemplate()


class DeploymentStatus(KubeStruct, frozen=True):
    """status of a Deployment."""

    replicas: int = 0
    ready_replicas: int = 0
    conditions: tuple[Condition, ...] = ()


class Deployment(KubeStruct, frozen=True, dict=True, gc=True):
    """A Deployment."""

    metadata: Meta = Meta()
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class ServiceSpec(KubeStruct, frozen=True):
    """spec of a Service."""

    selector: dict[str, str] = {}


class Service(KubeStruct, frozen=True, dict=True, gc=True):
    """A Service."""

    metadata: Meta = Meta()
    spec: ServiceSpec = ServiceSpec()


class JobSpec(KubeStruct, frozen=True):
    """spec of a Job."""

    parallelism: int = 1
    completions: int | None = None
    suspend: bool = False
    ttl_seconds_after_finished: int | None = None


class JobStatus(KubeStruct, frozen=True):
    """status of a Job."""

    ready: int | None = None
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[Condition, ...] = ()


class Job(KubeStruct, frozen=True, dict=True, gc=True):
    """A Job."""

    metadata: Meta = Meta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class ScaleTarget(KubeStruct, frozen=True):
    """spec.scaleTargetRef of a HorizontalPodAutoscaler."""

    kind: str = ""
    name: str = ""


class ScalingRules(KubeStruct, frozen=True):
    """spec.behavior.scaleDown of a HorizontalPodAutoscaler."""

    select_policy: str = ""


class Behavior(KubeStruct, frozen=True):
    """spec.behavior of a HorizontalPodAutoscaler."""

    scale_down: ScalingRules | None = None


class AutoscalerSpec(KubeStruct, frozen=True):
    """spec of a HorizontalPodAutoscaler."""

    scale_target_ref: ScaleTarget = ScaleTarget()
    min_replicas: int = 1
    max_replicas: int = 0
    behavior: Behavior | None = None

    @property
    def never_scales_down(self) -> bool:
        """Whether its owner forbids it to remove replicas."""
        down = None if self.behavior is None else self.behavior.scale_down
        return down is not None and down.select_policy == "Disabled"


class AutoscalerStatus(KubeStruct, frozen=True):
    """status of a HorizontalPodAutoscaler."""

    current_replicas: int = 0
    desired_replicas: int = 0
    last_scale_time: str | None = None
    conditions: tuple[Condition, ...] = ()


class Autoscaler(KubeStruct, frozen=True):
    """A HorizontalPodAutoscaler (autoscaling/v2)."""

    metadata: Meta = Meta()
    spec: AutoscalerSpec = AutoscalerSpec()
    status: AutoscalerStatus = AutoscalerStatus()
