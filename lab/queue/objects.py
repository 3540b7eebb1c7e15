"""The fields of Jobs and of Kueue's objects that queues need; see `services.kube_objects`."""

from __future__ import annotations

from services.kube_lists import list_decoder
from services.kube_objects import Condition, KubeStruct, Meta, PodSpec

GROUP = "kueue.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
"""Of Kueue's API, the one that is taken first where a cluster serves both."""
QUEUE_LABEL = f"{GROUP}/queue-name"
CLASS_LABEL = f"{GROUP}/priority-class"
ESTIMATE = "skrueue.ai/estimated-duration"
"""Annotation of a Job: minutes that its user expects."""
TYPE_ANNOTATION = "skrueue.ai/job-type"
TYPE_LABEL = "foresail.dev/job-type"
USER = "foresail.dev/user"
"""Annotation of a Job: whose it is."""
USER_LABEL = "user"
"""The predecessors' label for the same."""
HELD_BY = "foresail.dev/held-by"
"""Annotation of a Workload that a policy has deactivated."""
OWN_PRIORITY = "foresail.dev/own-priority"
"""Annotation of a Workload that a policy has let go first: the priority that it had before."""
JOBS_PATH = "/apis/batch/v1/jobs"
PODS_PATH = "/api/v1/pods"
NODES_PATH = "/api/v1/nodes"
METRICS_PATH = "/apis/metrics.k8s.io/v1beta1/nodes"


class JobTemplate(KubeStruct, frozen=True):
    """spec.template of a Job."""

    spec: PodSpec = PodSpec()


class BatchJobSpec(KubeStruct, frozen=True):
    """spec of a Job."""

    parallelism: int = 1
    suspend: bool = False
    template: JobTemplate = JobTemplate()


class BatchJobStatus(KubeStruct, frozen=True):
    """status of a Job."""

    completion_time: str | None = None
    conditions: tuple[Condition, ...] = ()


class BatchJob(KubeStruct, frozen=True):
    """A Job with the template of its pods."""

    metadata: Meta = Meta()
    spec: BatchJobSpec = BatchJobSpec()
    status: BatchJobStatus = BatchJobStatus()

    def end(self) -> Condition | None:
        """Return the condition that ended it: Complete or Failed; None while it goes on."""
        return next(
            (
                one
                for one in self.status.conditions
                if one.type in {"Complete", "Failed"} and one.status == "True"
            ),
            None,
        )


class WorkloadSpec(KubeStruct, frozen=True):
    """spec of a Workload."""

    queue_name: str = ""
    priority: int = 0
    active: bool = True


class WorkloadStatus(KubeStruct, frozen=True):
    """status of a Workload."""

    conditions: tuple[Condition, ...] = ()


class Workload(KubeStruct, frozen=True):
    """Kueue's Workload of a Job."""

    metadata: Meta = Meta()
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()

    def condition(self, kind: str) -> Condition | None:
        """Return one condition."""
        return next((one for one in self.status.conditions if one.type == kind), None)

    def holds(self, kind: str) -> bool:
        """Say whether a condition is true."""
        found = self.condition(kind)
        return found is not None and found.status == "True"

    @property
    def waits(self) -> bool:
        """Say whether no quota is reserved for it, and it has not ended."""
        return not self.holds("QuotaReserved") and not self.holds("Finished")

    @property
    def own_priority(self) -> int:
        """Return the priority that its user gave it."""
        return int(self.metadata.annotations.get(OWN_PRIORITY, self.spec.priority))

    @property
    def job(self) -> str:
        """Return the name of the Job that owns it; empty: another kind does."""
        owners = self.metadata.owner_references
        return next((one.name for one in owners if one.controller and one.kind == "Job"), "")


BATCH_JOBS = list_decoder(BatchJob)
WORKLOADS = list_decoder(Workload)
