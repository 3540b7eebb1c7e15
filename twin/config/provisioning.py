"""Settings of machines that come and go: what there is to rent, the cloud, and who asks for it.

Where a program's own default is meant its flag or constant is named; a figure without source says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from inputs.errors import ConfigError

Provisioner = Literal["none", "cluster-autoscaler", "karpenter", "warm-pool"]
PROVISIONERS: tuple[Provisioner, ...] = ("none", "cluster-autoscaler", "karpenter", "warm-pool")
Expander = Literal["least-waste", "most-pods", "price", "random"]
EXPANDERS: tuple[Expander, ...] = ("least-waste", "most-pods", "price", "random")


@dataclass(frozen=True, slots=True)
class MachineType:
    """A shape of machine that can be rented, as a node offers it."""

    name: str
    cpu_millicores: int
    memory_bytes: int
    price_per_hour: float
    spot_price_per_hour: float = 0.0
    """US dollars an hour at spot; 0: not offered."""
    gpus: int = 0
    zones: tuple[str, ...] = ("zone-a",)
    boot_median_seconds: float = 45.0
    """From the order until the node is registered and Ready; log-normal."""
    boot_sigma: float = 0.25
    """Spread of the logarithm of the boot time."""
    idle_watts: float = 0.0
    full_watts: float = 0.0
    """Electrical power with every core busy."""
    interruptions_per_hour: float = 0.0
    """How often the cloud takes a spot machine back, per machine and hour of its life."""
    pods: int = 110
    source: str = "own file"
    """Where price and shape come from, with the date."""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Machines of one type that Cluster Autoscaler resizes as a group (its --nodes=MIN:MAX:NAME)."""

    name: str
    machine: str
    least: int = 0
    most: int = 10
    start: int = 0
    """Machines that run at the beginning."""
    zone: str = ""
    """Empty: the first zone of the machine type."""
    spot: bool = False
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[tuple[str, str, str], ...] = ()
    """(key, value, effect)"""


@dataclass(frozen=True, slots=True)
class CloudConfig:
    """What the simulated cloud grants; seconds are cluster seconds."""

    quota_cores: float = 0.0
    """Cores that may run at once; 0: no quota."""
    refuse: tuple[str, ...] = ()
    """Offerings without capacity: `machine`, or `machine/spot` and `machine/on-demand`."""
    never_boots: tuple[str, ...] = ()
    """Machine types that are granted and never come up: images that do not boot, networks that block."""
    terminate_seconds: float = 0.0
    """From the order to stop a machine until it is gone; our own choice."""


@dataclass(frozen=True, slots=True)
class ClusterAutoscalerConfig:
    """Flags of Cluster Autoscaler (cluster-autoscaler/config/flags/flags.go); seconds are cluster seconds."""

    scan_seconds: float = 10.0
    """--scan-interval."""
    expander: Expander = "least-waste"
    """--expander; least-waste is the default since 1.33, random before. `price`: the cheapest group for the
    pods it helps, without the penalties of the real one."""
    unneeded_seconds: float = 600.0
    """--scale-down-unneeded-time."""
    unready_seconds: float = 1_200.0
    """--scale-down-unready-time."""
    utilization_threshold: float = 0.5
    """--scale-down-utilization-threshold."""
    delay_after_add_seconds: float = 600.0
    """--scale-down-delay-after-add."""
    delay_after_failure_seconds: float = 180.0
    """--scale-down-delay-after-failure."""
    provision_seconds: float = 900.0
    """--max-node-provision-time."""
    startup_seconds: float = 900.0
    """--max-node-startup-time."""
    recheck_seconds: float = 300.0
    """--unremovable-node-recheck-timeout."""
    most_deletions: int = 10
    """--max-scale-down-parallelism."""
    most_drains: int = 1
    """--max-drain-parallelism."""
    delete_delay_seconds: float = 5.0
    """--node-delete-delay-after-taint."""
    most_unready_percent: float = 45.0
    """--max-total-unready-percentage."""
    allowed_unready: int = 3
    """--ok-total-unready-count."""
    priority_cutoff: int = -10
    """--expendable-pods-priority-cutoff."""
    backoff_seconds: float = 300.0
    """--initial-node-group-backoff-duration."""
    backoff_most_seconds: float = 1_800.0
    """--max-node-group-backoff-duration."""
    backoff_reset_seconds: float = 10_800.0
    """--node-group-backoff-reset-timeout."""
    eviction_seconds: float = 120.0
    """--max-pod-eviction-time."""
    graceful_seconds: float = 600.0
    """--max-graceful-termination-sec."""
    system_pod_seconds: float = 3_600.0
    """--blocking-system-pod-distruption-timeout (sic)."""
    balance_similar_node_groups: bool = False
    """--balance-similar-node-groups."""
    young_pod_seconds: float = 2.0
    """Pods younger than this wait for the next scan (core/static_autoscaler.go unschedulablePodTimeBuffer)."""
    most_soft_taints: int = 10
    """--max-bulk-soft-taint-count."""

    def __post_init__(self) -> None:
        """Check what can be set; raises ConfigError."""
        if self.expander not in EXPANDERS:
            choices = ", ".join(EXPANDERS)
            raise ConfigError(
                "cluster_autoscaler.expander", self.expander, f"choose from {choices}"
            )
        if self.scan_seconds <= 0.0:
            raise ConfigError(
                "cluster_autoscaler.scan_seconds", self.scan_seconds, "give more than 0"
            )


@dataclass(frozen=True, slots=True)
class KarpenterConfig:
    """Settings and constants of Karpenter (pkg/operator/options/options.go); seconds are cluster seconds."""

    batch_idle_seconds: float = 1.0
    """BATCH_IDLE_DURATION."""
    batch_most_seconds: float = 10.0
    """BATCH_MAX_DURATION."""
    requeue_seconds: float = 10.0
    """A pod that still waits asks again (pkg/controllers/provisioning/controller.go)."""
    poll_seconds: float = 10.0
    """Between two looks for something to disrupt (pkg/controllers/disruption/controller.go)."""
    validation_seconds: float = 15.0
    """Between a decision to consolidate and the second look at it (commandValidationDelay)."""
    launch_seconds: float = 300.0
    """launchTimeout (pkg/controllers/nodeclaim/lifecycle/liveness.go)."""
    registration_seconds: float = 900.0
    """registrationTimeout (same file)."""
    drain_least_seconds: float = 5.0
    """MinDrainTime (pkg/controllers/node/termination/controller.go)."""
    replacement_seconds: float = 600.0
    """How long a replacement may take (minRetryDuration, pkg/controllers/disruption/queue.go)."""
    drift_seconds: float = 300.0
    """A NodeClaim is looked at for drift so often at least (pkg/controllers/nodeclaim/disruption/drift.go)."""
    spot_to_spot: bool = False
    """Feature gate SpotToSpotConsolidation."""
    respect_preferences: bool = True
    """PREFERENCE_POLICY=Respect."""
    interruption_queue: str = ""
    """INTERRUPTION_QUEUE; with any name spot notices are acted on. Empty, as documented: they are not."""
    default_pool: bool = True
    """Whether a NodePool `default` and a KWOKNodeClass `default` are there from the start; our own choice."""


@dataclass(frozen=True, slots=True)
class WarmPoolConfig:
    """The earlier system's local provisioner (docs/baseline-fields.md); seconds are cluster seconds."""

    machine: str = ""
    """Type of the warm machines; empty: the first of the catalogue."""
    size: int = 3
    """Machines that run from the start, warm ones among them."""
    warm: int = 2
    """How many of them are warm: cordoned, with the taint foresail.dev/capacity=warm:NoSchedule."""
    loop_seconds: float = 5.0
    """Between two looks; each can wake one machine (the earlier controller's 5 s)."""
    idle_iterations: int = 18
    """Looks without a pending pod until an empty machine becomes warm again (the earlier controller's 18)."""


@dataclass(frozen=True, slots=True)
class ProvisioningConfig:
    """Machines that come and go."""

    provisioner: Provisioner = "none"
    """Who adds and removes machines."""
    machines: tuple[MachineType, ...] = ()
    """What can be rented; empty: the EC2 rows of the built-in table of public cloud shapes."""
    groups: tuple[NodeGroup, ...] = ()
    """Node groups of Cluster Autoscaler; empty: one of each machine type that has no GPU."""
    cloud: CloudConfig = field(default_factory=CloudConfig)
    """What the cloud grants."""
    cluster_autoscaler: ClusterAutoscalerConfig = field(default_factory=ClusterAutoscalerConfig)
    """Flags of Cluster Autoscaler."""
    karpenter: KarpenterConfig = field(default_factory=KarpenterConfig)
    """Settings of Karpenter."""
    warm_pool: WarmPoolConfig = field(default_factory=WarmPoolConfig)
    """Settings of the warm pool."""

    def __post_init__(self) -> None:
        """Check that names fit together; raises ConfigError."""
        if self.provisioner not in PROVISIONERS:
            choices = ", ".join(PROVISIONERS)
            raise ConfigError(
                "provisioning.provisioner", self.provisioner, f"choose from {choices}"
            )
