"""Facts that the executor reads from the cluster just before it plans: re-validation starts here."""

from __future__ import annotations

from schemas.model import DataModel
from schemas.numbers import Count, Rounded, Seconds


class NodeFacts(DataModel):
    """The target node as it is now; `raw` holds the fields that patches touch."""

    name: str
    uid: str
    resource_version: str
    ready: bool
    unschedulable: bool
    annotations: dict[str, str] = {}
    taints: tuple[dict[str, str], ...] = ()
    protected: bool = False
    """Marked do-not-disrupt."""
    kept_by_autoscaler: bool = False
    """Annotated so that Cluster Autoscaler does not remove it."""
    writable: bool = True
    """Not struck out: no guard forbade to write it."""


class ContainerFacts(DataModel):
    """A container of a pod that may be resized."""

    name: str
    requests: dict[str, str] = {}
    """Quantities as its owner wrote them."""
    limits: dict[str, str] = {}
    restarts_for: tuple[str, ...] = ()
    """Resources whose change restarts it (resizePolicy)."""
    peak_cores: Rounded | None = None
    """The most that was measured lately; None: it is not known."""
    peak_bytes: Count | None = None


class PodFacts(DataModel):
    """A pod on the target node, or one that is pending."""

    namespace: str
    name: str
    uid: str
    workload: str
    """`<namespace>/<kind>/<name>`; empty for a bare pod."""
    cpu_request_cores: float
    priority: int = 0
    daemon: bool = False
    pending: bool = False
    protected: bool = False
    """Marked do-not-disrupt, or struck out by a guard."""
    created_time_seconds: Seconds = 0.0
    disruptions_allowed: Count | None = None
    """Evictions that its PodDisruptionBudget allows now, 0 where several cover it; None: none does."""
    budgets: tuple[str, ...] = ()
    """Names of the PodDisruptionBudgets that cover it."""
    resource_version: str = ""
    """Set where the pod itself may be written."""
    qos: str = ""
    """status.qosClass."""
    containers: tuple[ContainerFacts, ...] = ()
    """Of a pod that may be resized as it is; empty: it may not."""
    confined: bool = False
    """No other open node has what it asks of one."""
    usage_seconds: Seconds = 0.0
    """For how long its usage is known without a gap."""
    usage_source: str = ""
    """Who measured it: `metrics_server` or `prometheus`; empty: it is not known."""
    usage_window_seconds: Seconds = 0.0
    """Seconds over which each measurement is a mean; 0: nobody says."""
    usage_time_seconds: Seconds = 0.0
    """When the newest one was made."""


class WorkloadFacts(DataModel):
    """A Deployment or Job that an action may change, or a StatefulSet whose pods it moves."""

    id: str
    """`<namespace>/<kind>/<name>`."""
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str
    replicas: Count
    ready: Count = 0
    """Ready replicas of a Deployment or StatefulSet; 0 for a Job."""
    suspended: bool = False
    annotations: dict[str, str] = {}
    protected: bool = False
    """Marked do-not-disrupt, or struck out by a guard."""
    pending_pods: Count = 0
    priority: int = 0
    created_time_seconds: Seconds = 0.0


class AutoscalerFacts(DataModel):
    """The HorizontalPodAutoscaler that scales the target."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    least_replicas: Count
    """spec.minReplicas."""
    most_replicas: Count
    """spec.maxReplicas."""
    annotations: dict[str, str] = {}
    protected: bool = False
    """Marked do-not-disrupt."""


class NodeClaimFacts(DataModel):
    """Karpenter's claim of the machine under the target node."""

    name: str
    uid: str


class NamespaceFacts(DataModel):
    """A namespace with pods on the target node."""

    name: str
    has_defaults: bool
    """Every container gets requests of CPU and memory, its own or a LimitRange's."""
    capped: bool
    """Our own quota is there already."""
    used_millicores: Count
    """Requested by its pods together."""
    used_bytes: Count
    most_millicores: Count
    """Requested by its largest pod."""
    most_bytes: Count
    protected: bool = False
    """Struck out by a guard."""


class QuotaHeadroom(DataModel):
    """How many pods like the target's the namespace's ResourceQuotas still let in."""

    pods: Count
    text: str
    """The quota and the resource that bind."""


class Facts(DataModel):
    """Everything a plan may look at."""

    time_seconds: Seconds
    """Cluster time of the reading."""
    node: NodeFacts | None = None
    node_claim: NodeClaimFacts | None = None
    """Set where Karpenter rented the machine, and machines are handed back to it."""
    pods: tuple[PodFacts, ...] = ()
    """Pods on the node (node actions), or pending pods (queue actions)."""
    workloads: tuple[WorkloadFacts, ...] = ()
    """Deployments and Jobs those pods belong to, and those we changed before; sorted by id. Of a workload
    that is the target: itself."""
    autoscaler: AutoscalerFacts | None = None
    """What scales the target workload; None: nothing does."""
    namespaces: tuple[NamespaceFacts, ...] = ()
    """Of the pods on the node, by name; read where they may be capped."""
    simulated: bool = False
    """The embedded cluster, which honours limits on nodes."""
    decision_id: str = ""
    """Id of the decision that is planned."""
    quota_room: QuotaHeadroom | None = None
    """Of the target workload; None: no quota limits its pods."""
    resize_served: bool = False
    """The API server serves the resize subresource of pods."""
    memory_limits_fall: bool = False
    """Memory limits may be lowered without a restart (Kubernetes 1.34)."""
    other_added_pods: Count = 0
    """Pods that raises of ours on other workloads add, as they stand now."""

    def workload(self, workload_id: str) -> WorkloadFacts | None:
        """Return one workload."""
        return next((workload for workload in self.workloads if workload.id == workload_id), None)
