"""Kubernetes objects with what says who protects them: annotations, and owners with their API group."""

from __future__ import annotations

from services.kube_objects import KubeStruct, Meta, Owner, Pod, PodSpec
from services.kube_workloads import ScaleTarget
from services.protection import MIRROR, control_plane_mark, do_not_disrupt_mark


class OwnerRef(Owner, frozen=True):
    """metadata.ownerReferences[], with the group and version of the owner."""

    api_version: str = ""

    @property
    def what(self) -> str:
        """The owner's kind and name for people."""
        return f"{self.kind.lower()} {self.name}"


class MarkedMeta(Meta, frozen=True):
    """metadata with annotations, and owners as above."""

    owner_references: tuple[OwnerRef, ...] = ()

    @property
    def mark(self) -> str:
        """Mark that makes the object do-not-disrupt; empty: nothing."""
        return do_not_disrupt_mark(self.annotations, self.labels)


class MarkedObject(KubeStruct, frozen=True):
    """Any object."""

    metadata: MarkedMeta = MarkedMeta()


class WorkloadSpec(KubeStruct, frozen=True):
    """Fields that decide how many pods a Deployment or Job has."""

    replicas: int = 1
    parallelism: int = 1
    suspend: bool = False


class MarkedWorkload(MarkedObject, frozen=True):
    """A Deployment or Job."""

    spec: WorkloadSpec = WorkloadSpec()


class _AutoscalerSpec(KubeStruct, frozen=True):
    scale_target_ref: ScaleTarget = ScaleTarget()
    min_replicas: int = 1


class MarkedAutoscaler(MarkedObject, frozen=True):
    """A HorizontalPodAutoscaler."""

    spec: _AutoscalerSpec = _AutoscalerSpec()


class _ClaimStatus(KubeStruct, frozen=True):
    node_name: str = ""


class NodeClaim(MarkedObject, frozen=True):
    """Karpenter's claim of a machine."""

    status: _ClaimStatus = _ClaimStatus()


class PodTemplate(KubeStruct, frozen=True):
    """spec.template: the marks of pods and what they ask for."""

    metadata: MarkedMeta = MarkedMeta()
    spec: PodSpec = PodSpec()


class _TemplatedSpec(KubeStruct, frozen=True):
    template: PodTemplate = PodTemplate()


class TemplatedDeployment(KubeStruct, frozen=True):
    """A Deployment of which only the template of its pods is read."""

    spec: _TemplatedSpec = _TemplatedSpec()


class MarkedPod(Pod, frozen=True):
    """A pod with its annotations, which the collector does without."""

    metadata: MarkedMeta = MarkedMeta()  # type: ignore[assignment]

    @property
    def daemon(self) -> bool:
        """Whether a DaemonSet keeps it on its node."""
        return any(
            owner_reference.controller and owner_reference.kind == "DaemonSet"
            for owner_reference in self.metadata.owner_references
        )

    @property
    def static(self) -> bool:
        """Whether its kubelet started it from a file."""
        owned = any(
            owner_reference.kind == "Node" for owner_reference in self.metadata.owner_references
        )
        return owned or MIRROR in self.metadata.annotations


class _Taint(KubeStruct, frozen=True):
    key: str = ""


class _NodeSpec(KubeStruct, frozen=True):
    taints: tuple[_Taint, ...] = ()


class MarkedNode(MarkedObject, frozen=True):
    """A node."""

    spec: _NodeSpec = _NodeSpec()

    @property
    def control_plane(self) -> str:
        """The label or taint that shows a control-plane node; empty: a worker."""
        return control_plane_mark(self.metadata.labels, (taint.key for taint in self.spec.taints))
