"""Statement of an autoscaler's bounds, metrics and conditions about why it is where it is."""

from __future__ import annotations

from schemas.snapshot import AutoscalerState
from schemas.wording import count_text

VALID_METRIC = "ValidMetricFound"
DISABLED = "ScalingDisabled"
COMPUTED = frozenset((VALID_METRIC, ""))
"""Reasons of ScalingActive with which it has computed what it wants; recordings of old do not say it."""
STABILIZED = frozenset(("ScaleDownStabilized", "ScaleUpStabilized"))


def why_not_more(state: AutoscalerState | None) -> str:
    """Return what keeps an autoscaler at its replicas; empty when the log does not say."""
    if state is None:
        return ""
    if state.active == DISABLED:
        return "its workload is scaled to 0, which switches it off"
    if state.missing_metrics or state.active not in COMPUTED:
        return _why_not_active(state)
    if state.able.startswith("Failed"):
        return f"it cannot read or write the scale of its workload ({state.able})"
    if state.limited == "TooManyReplicas":
        return f"it is at its maximum of {state.max_replicas}"
    if state.limited == "TooFewReplicas":
        return f"it is at its minimum of {state.min_replicas}"
    if state.able in STABILIZED:
        return f"it waits for its stabilization window ({state.able})"
    if state.active == VALID_METRIC and state.current_replicas == state.desired_replicas:
        return "its metrics are within tolerance of their targets"
    return ""


def _why_not_active(state: AutoscalerState) -> str:
    said = f": {state.inactive}" if state.inactive else ""
    reason = f" ({state.active}{said})" if state.active not in COMPUTED else ""
    missing = ", ".join(state.missing_metrics)
    if missing and len(state.missing_metrics) < state.metrics:
        return (
            f"{len(state.missing_metrics)} of its {state.metrics} metrics cannot be read, {missing}{reason}; "
            "it does not scale down without"
        )
    if missing or "Metric" in state.active:
        return f"it has no metrics{reason}"
    return f"it computes no replicas{reason}"


def wish_of(state: AutoscalerState) -> str:
    """Return what an autoscaler wants, as far as it was computed, and what it had."""
    had = f"had {state.current_replicas}"
    wanted = count_text(state.desired_replicas, "replica")
    computed = state.active in COMPUTED or state.active == DISABLED
    if state.desired_replicas == 0 and state.active not in {VALID_METRIC, DISABLED}:
        return f"what it wants was never computed; it {had}"
    if not computed:
        return f"wanted {wanted} when it last computed that; it {had}"
    return f"wants {wanted} and {had}"
