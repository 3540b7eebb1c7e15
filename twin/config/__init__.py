"""Settings of the embedded cluster. Every default is a documented one (docs/twin.md lists them)."""

from __future__ import annotations

from dataclasses import dataclass, field

from twin.config.access import AccessConfig
from twin.config.behaviour import KubeletConfig, MachineConfig, MemoryConfig, MetricsConfig
from twin.config.controllers import ControllerConfig
from twin.config.health import HealthConfig
from twin.config.kueue import KueueConfig
from twin.config.provisioning import ProvisioningConfig
from twin.config.scheduling import SchedulerConfig
from twin.config.serving import ServingConfig
from twin.config.vertical import VerticalConfig

START_2026 = 1_767_225_600.0


@dataclass(frozen=True, slots=True)
class TwinConfig:
    """Settings of the simulated cluster; seconds are cluster seconds."""

    start_time: float = START_2026
    """Cluster time at the start, unix seconds: 2026-01-01T00:00:00Z for virtual runs and experiments. A
    twin in a process of its own starts at the wall clock, and writes that into its journal."""
    scrape_seconds: float = 15.0
    """Metrics Server's resolution in its own manifests; also the step of usage and contention."""
    start_median_seconds: float = 1.6
    """Median time from binding to running without image pull; the p99 is 4.6 s, the SLO 5 s
    (kubernetes/community sig-scalability/slos/pod_startup_latency.md)."""
    start_sigma: float = 0.45
    """Spread of the log-normal start-up time; no documented figure."""
    pull_bytes_per_second: float = 100e6
    """Download rate of images, per node; no documented figure."""
    stop_median_seconds: float = 1.0
    """Median time that a container takes after SIGTERM, never longer than the grace; no documented
    figure."""
    node_grace_seconds: float = 50.0
    """Time without a sign of life until a node is NotReady (kube-controller-manager
    --node-monitor-grace-period: 50 s since 1.32, 40 s before)."""
    restart_backoff_seconds: float = 10.0
    """First delay before a crashed container runs again, doubled each time (website
    concepts/workloads/pods/pod-lifecycle.md)."""
    restart_backoff_max_seconds: float = 300.0
    """Longest delay before a crashed container runs again (same page)."""
    restart_reset_seconds: float = 600.0
    """A container that ran this long starts its back-off anew (same page)."""
    kubelet: KubeletConfig = field(default_factory=KubeletConfig)
    """Image pulls, init containers and probes."""
    health: HealthConfig = field(default_factory=HealthConfig)
    """The weather: what goes wrong by itself."""
    machines: MachineConfig = field(default_factory=MachineConfig)
    """How machines are watched, and how they leave."""
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    """What happens when a node's memory runs out."""
    metrics: MetricsConfig = field(default_factory=MetricsConfig)
    """Where metrics.k8s.io gets its numbers."""
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)
    """Which scheduler plugins run, with which weights, and how its queue waits."""
    controllers: ControllerConfig = field(default_factory=ControllerConfig)
    """Settings of the control plane's controllers."""
    vertical: VerticalConfig = field(default_factory=VerticalConfig)
    """The Vertical Pod Autoscaler, which runs while there are such objects."""
    provisioning: ProvisioningConfig = field(default_factory=ProvisioningConfig)
    """Machines that come and go."""
    serving: ServingConfig = field(default_factory=ServingConfig)
    """How requests of Services with traffic are simulated."""
    access: AccessConfig = field(default_factory=AccessConfig)
    """Who may do what: fixed identities, or RBAC."""
    kueue: KueueConfig = field(default_factory=KueueConfig)
    """Queues for Jobs; off."""
    job_ttl_seconds: int = 300
    """Time after which a finished Job of the workload vanishes (its ttlSecondsAfterFinished); our own
    choice."""
    bare_tasks: bool = False
    """Whether a task of the workload is a Pod of its own instead of a Job, as in Borg's traces: for runs in
    which only placement, usage and time count. Like any bare pod it is not made again, and stays when it
    has ended. Off; our own choice."""
    kube_events: bool = True
    """Whether the simulated components write KubeEvents; off is for runs that nobody looks into."""
    event_ttl_seconds: float = 3_600.0
    """How long KubeEvents are kept (the API server's --event-ttl)."""
    event_limit: int = 5_000
    """How many KubeEvents are kept at most; our own choice."""
    change_log_size: int = 20_000
    """Changes per resource that a watch can resume from; our own choice (etcd compacts by time)."""
    cpu_usage_ratio: float = 0.3
    """Mean CPU usage of pods that say nothing about it, of their request; our own choice."""
    memory_usage_ratio: float = 0.5
    """Mean memory usage of pods that say nothing about it, of their request; our own choice."""
    task_seconds: float = 60.0
    """Work of Job pods whose annotation and command say nothing about it; our own choice."""
    node_failures_per_day: float = 0.0
    """Random failures per node and day; off."""
    node_repair_seconds: float = 600.0
    """Mean duration of a random node failure; our own choice."""
