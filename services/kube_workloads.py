"""Workloads, what scales them and what they serve, with the few fields that we read; see `kube_objects`."""

from __future__ import annotations

from typing import Any

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

    ready_replicas: int = 0


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


class AutoscalerMetric(KubeStruct, frozen=True):
    """spec.metrics[] and status.currentMetrics[] of a HorizontalPodAutoscaler."""

    type: str = ""
    """Empty in a status: it could not be read."""
    resource: dict[str, Any] | None = None
    container_resource: dict[str, Any] | None = None
    pods: dict[str, Any] | None = None
    object: dict[str, Any] | None = None
    external: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """Return its type and name, such as `External queue_lag`."""
        sources = (self.resource, self.container_resource, self.pods, self.object, self.external)
        source: dict[str, Any] = next(filter(None, sources), {})
        metric = source.get("metric")
        name = metric.get("name") if isinstance(metric, dict) else source.get("name")
        return f"{self.type} {name or '?'}"


class AutoscalerSpec(KubeStruct, frozen=True):
    """spec of a HorizontalPodAutoscaler."""

    scale_target_ref: ScaleTarget = ScaleTarget()
    min_replicas: int = 1
    max_replicas: int = 0
    metrics: tuple[AutoscalerMetric, ...] = ()


class AutoscalerStatus(KubeStruct, frozen=True):
    """status of a HorizontalPodAutoscaler."""

    current_replicas: int = 0
    desired_replicas: int = 0
    last_scale_time: str | None = None
    current_metrics: tuple[AutoscalerMetric, ...] | None = None
    """One for each of the spec, in its order; none where they were not asked for."""
    conditions: tuple[Condition, ...] = ()


class Autoscaler(KubeStruct, frozen=True):
    """A HorizontalPodAutoscaler (autoscaling/v2)."""

    metadata: Meta = Meta()
    spec: AutoscalerSpec = AutoscalerSpec()
    status: AutoscalerStatus = AutoscalerStatus()

    @property
    def missing_metrics(self) -> tuple[str, ...]:
        """Names of the metrics that were asked for and could not be read."""
        asked, read = self.spec.metrics, self.status.current_metrics or ()
        if len(asked) != len(read):
            return ()
        return tuple(one.name for one, now in zip(asked, read, strict=True) if not now.type)

    @property
    def inactive(self) -> str:
        """Return why it computes no replicas, in the cluster's words; empty where it does."""
        conditions = self.status.conditions
        said = (
            one.message
            for one in conditions
            if one.type == "ScalingActive" and one.status == "False"
        )
        return next(said, "")
