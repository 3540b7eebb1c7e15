"""Wishes and limits of HorizontalPodAutoscalers: for reactions and the snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from schemas.snapshot import AutoscalerState
from services.collector.snapshot import MOST_AUTOSCALERS, Scaling
from services.kube_objects import parse_time
from services.kube_workloads import Autoscaler


def scaling_rows(items: Sequence[Autoscaler]) -> dict[str, Scaling]:
    """Return autoscalers by `<namespace>/HorizontalPodAutoscaler/<name>`.

    Raises:
        ValueError: a time stamp cannot be read.
    """
    return {
        f"{item.metadata.namespace}/HorizontalPodAutoscaler/{item.metadata.name}": Scaling(
            target=f"{item.spec.scale_target_ref.kind}/{item.spec.scale_target_ref.name}",
            current=item.status.current_replicas,
            desired=item.status.desired_replicas,
            scaled_time_seconds=parse_time(item.status.last_scale_time)
            if item.status.last_scale_time
            else None,
            least=item.spec.min_replicas,
            most=item.spec.max_replicas,
            reasons={condition.type: condition.reason for condition in item.status.conditions},
            inactive=item.inactive,
            missing=item.missing_metrics,
            metrics=len(item.spec.metrics),
        )
        for item in items
    }


def published_scalings(states: Sequence[AutoscalerState]) -> Mapping[str, Scaling]:
    """Return what a snapshot says of autoscalers as it was read, without when each last scaled."""
    return {
        state.object: Scaling(
            target=state.workload.partition("/")[2],
            current=state.current_replicas,
            desired=state.desired_replicas,
            scaled_time_seconds=None,
            least=state.min_replicas,
            most=state.max_replicas,
        )
        for state in states
    }


def autoscaler_states(scalings: Mapping[str, Scaling]) -> tuple[AutoscalerState, ...]:
    """Return what the snapshot publishes of autoscalers, the first by name."""
    return tuple(
        _state_of(
            name,
            scaling.target,
            (scaling.least, scaling.most),
            (scaling.current, scaling.desired),
            tuple([scaling.reasons.get(kind, "") for kind in _CONDITIONS]),
            (
                scaling.inactive[:MESSAGE_CHARACTERS],
                scaling.missing[:MOST_METRICS],
                scaling.metrics,
            ),
        )
        for name, scaling in sorted(scalings.items())[:MOST_AUTOSCALERS]
    )


MESSAGE_CHARACTERS = 240
"""Longer messages of the API are cut."""
MOST_METRICS = 8
"""Missing ones that are named."""
_CONDITIONS = ("ScalingActive", "ScalingLimited", "AbleToScale")


@lru_cache(maxsize=4 * MOST_AUTOSCALERS)  # most want at each look what they wanted before
def _state_of(
    name: str,
    target: str,
    bounds: tuple[int, int],
    replicas: tuple[int, int],
    reasons: tuple[str, ...],
    lacking: tuple[str, tuple[str, ...], int],
) -> AutoscalerState:
    (least, most), (current, desired), (active, limited, able) = bounds, replicas, reasons
    inactive, missing, metrics = lacking
    return AutoscalerState(
        object=name,
        workload=f"{name.partition('/')[0]}/{target}",
        min_replicas=least,
        max_replicas=most,
        current_replicas=current,
        desired_replicas=desired,
        active=active,
        limited=limited,
        able=able,
        inactive=inactive,
        missing_metrics=missing,
        metrics=metrics if missing else 0,
    )
