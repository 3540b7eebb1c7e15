"""What HorizontalPodAutoscalers want and what holds them back: for reactions and the snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
        AutoscalerState(
            object=name,
            workload=f"{name.partition('/')[0]}/{scaling.target}",
            min_replicas=scaling.least,
            max_replicas=scaling.most,
            current_replicas=scaling.current,
            desired_replicas=scaling.desired,
            active=scaling.reasons.get("ScalingActive", ""),
            limited=scaling.reasons.get("ScalingLimited", ""),
            able=scaling.reasons.get("AbleToScale", ""),
        )
        for name, scaling in sorted(scalings.items())[:MOST_AUTOSCALERS]
    )
