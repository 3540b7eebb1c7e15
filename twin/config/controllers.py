"""Settings of the controllers: kube-controller-manager's own defaults, with their sources."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """Settings of the control plane; seconds are cluster seconds."""

    switched_off: tuple[str, ...] = ()
    """Resources whose controller or admission plugin does nothing (as --controllers=-NAME):
    horizontalpodautoscalers, cronjobs, statefulsets, daemonsets, resourcequotas, limitranges, ..."""
    success_events: bool = True
    """Write SuccessfulCreate, SuccessfulDelete and ScalingReplicaSet for each pod and step, as a
    real controller manager does; off saves about two KubeEvents per pod."""
    retry_first_seconds: float = 0.005
    """First delay after a failed reconciliation, doubled each time (client-go
    util/workqueue/default_rate_limiters.go)."""
    retry_most_seconds: float = 1_000.0
    """Longest delay after a failed reconciliation (same file)."""
    hpa_sync_seconds: float = 15.0
    """--horizontal-pod-autoscaler-sync-period (pkg/controller/podautoscaler/config/v1alpha1)."""
    hpa_tolerance: float = 0.1
    """--horizontal-pod-autoscaler-tolerance (same file)."""
    hpa_down_window_seconds: float = 300.0
    """--horizontal-pod-autoscaler-downscale-stabilization (same file)."""
    hpa_cpu_initialization_seconds: float = 300.0
    """--horizontal-pod-autoscaler-cpu-initialization-period (same file)."""
    hpa_initial_readiness_seconds: float = 30.0
    """--horizontal-pod-autoscaler-initial-readiness-delay (same file)."""
    disruption_timeout_seconds: float = 120.0
    """How long an eviction counts against a budget while its pod is not deleted yet
    (pkg/controller/disruption/disruption.go DeletionTimeout)."""
    job_backoff_seconds: float = 10.0
    """First delay before a Job replaces a failed pod (pkg/controller/job/job_controller.go)."""
    job_backoff_most_seconds: float = 600.0
    """Longest delay before a Job replaces a failed pod (same file, MaxJobPodFailureBackOff)."""
