"""Settings of kubelets, machines, memory and metrics: documented defaults, each with its source.

Where Kubernetes documents no figure the sentence says so. docs/twin.md is generated from these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MIB = 2**20


@dataclass(frozen=True, slots=True)
class KubeletConfig:
    """How kubelets start and stop containers; seconds are cluster seconds."""

    serial_pulls: bool = True
    """A node pulls one image at a time (KubeletConfiguration serializeImagePulls); off: all at
    once, each at the full rate."""
    pull_check_seconds: float = 0.5
    """Asking the registry about an image that is there, as imagePullPolicy Always does; no
    documented figure."""
    pull_error_seconds: float = 1.0
    """How long a pod shows ErrImagePull before it shows ImagePullBackOff; no documented figure."""
    pull_backoff_seconds: float = 10.0
    """First delay before a failed pull is tried again, doubled each time (website
    concepts/containers/images.md)."""
    pull_backoff_max_seconds: float = 300.0
    """Longest delay before a failed pull is tried again (same page)."""
    init_container_seconds: float = 1.0
    """Run of an init container, one after the other; no documented figure."""
    local_image: str = ""
    """Image that is the local installation: the containers of a pod that has no other are processes of this
    machine, which say themselves when they end (docs/twin/commands.md). Empty: every container is
    simulated."""
    probe_answer_seconds: float = 1.0
    """Time from a container's start until its probes succeed, unless the pod's annotation
    foresail.dev/ready-seconds says another; no documented figure."""
    cpu_manager_policy: Literal["none", "static"] = "none"
    """KubeletConfiguration cpuManagerPolicy; static: CPU of Guaranteed pods cannot be resized in place.
    Exclusive cores themselves are not modelled."""
    memory_manager_policy: Literal["None", "Static"] = "None"
    """KubeletConfiguration memoryManagerPolicy; Static: the same for memory."""


@dataclass(frozen=True, slots=True)
class MachineConfig:
    """What the control plane hears of machines and does about them; seconds are cluster seconds."""

    status_seconds: float = 10.0
    """Time between two signs of life of a node (KubeletConfiguration nodeStatusUpdateFrequency; leases
    are renewed as often). 0: at every moment."""
    monitor_seconds: float = 5.0
    """How often the node controller looks at the signs of life (kube-controller-manager
    --node-monitor-period). 0: at every moment."""
    orphan_seconds: float = 40.0
    """Time until pods of a node that no longer exists are deleted (pkg/controller/podgc
    quarantineTime)."""
    spot_notice_seconds: float = 120.0
    """Time between a spot notice and the machine's end (EC2: two minutes; GCP and Azure: 30 s)."""


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """What happens when a node's memory runs out; seconds are cluster seconds."""

    pressure_evictions: bool = True
    """Kubelets evict pods under memory pressure; off: only the kernel's OOM killer acts."""
    eviction_bytes: int = 100 * MIB
    """Free memory below which pods are evicted (website node-pressure-eviction.md:
    memory.available<100Mi). A node has so much more than its allocatable."""
    pressure_transition_seconds: float = 300.0
    """Time that MemoryPressure stays after the last pressure (KubeletConfiguration
    evictionPressureTransitionPeriod)."""


@dataclass(frozen=True, slots=True)
class MetricsConfig:
    """Where metrics.k8s.io gets its numbers; seconds are cluster seconds."""

    source: Literal["metrics-server", "prometheus"] = "metrics-server"
    """Metrics Server: rates over two scrapes. Prometheus with its adapter: rates over a longer
    window of rarer scrapes."""
    prometheus_scrape_seconds: float = 60.0
    """Prometheus' own default scrape_interval (its shipped prometheus.yml)."""
    prometheus_window_seconds: float = 300.0
    """Window of the adapter's CPU rate (prometheus-adapter's resource rules: rate over 5m in
    kube-prometheus)."""
