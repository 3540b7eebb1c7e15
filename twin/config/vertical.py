"""Settings of the Vertical Pod Autoscaler: the flags of its recommender and updater with their defaults.

Paths are below vertical-pod-autoscaler/pkg of kubernetes/autoscaler, read in August 2026 (VPA 1.7).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VerticalConfig:
    """How amounts are recommended and applied; seconds are cluster seconds."""

    recommend_seconds: float = 60.0
    """--recommender-interval (recommender/config/config.go, as all of the recommender's)."""
    margin_ratio: float = 0.15
    """--recommendation-margin-fraction."""
    least_cpu_millicores: float = 25.0
    """--pod-recommendation-min-cpu-millicores, shared by the containers of a pod."""
    least_memory_mib: float = 250.0
    """--pod-recommendation-min-memory-mb, counted in MiB."""
    target_percentile: float = 0.9
    """--target-cpu-percentile, --target-memory-percentile."""
    lower_percentile: float = 0.5
    """--recommendation-lower-bound-cpu-percentile and -memory-percentile."""
    upper_percentile: float = 0.95
    """--recommendation-upper-bound-cpu-percentile and -memory-percentile."""
    confidence_seconds: float = 86_400.0
    """--confidence-interval-cpu, --confidence-interval-memory."""
    half_life_seconds: float = 86_400.0
    """--cpu-histogram-decay-half-life, --memory-histogram-decay-half-life."""
    peak_seconds: float = 86_400.0
    """--memory-aggregation-interval: of each container's memory only the peak in so long counts."""
    oom_ratio: float = 1.2
    """--oom-bump-up-ratio."""
    oom_least_bytes: float = 104_857_600.0
    """--oom-min-bump-up-bytes."""
    update_seconds: float = 60.0
    """--updater-interval (updater/config/config.go, as the rest)."""
    least_replicas: int = 2
    """--min-replicas."""
    eviction_tolerance: float = 0.5
    """--eviction-tolerance."""
    update_threshold: float = 0.1
    """--pod-update-threshold."""
    lifetime_seconds: float = 43_200.0
    """--in-recommendation-bounds-eviction-lifetime-threshold."""
    quick_oom_seconds: float = 600.0
    """--evict-after-oom-threshold."""
    deferred_seconds: float = 300.0
    """DeferredResizeUpdateTimeout (updater/restriction/pods_inplace_restriction.go)."""
    in_progress_seconds: float = 3_600.0
    """InProgressResizeUpdateTimeout (same file)."""
