"""What HorizontalPodAutoscalers want: read for reactions."""

from __future__ import annotations

from collections.abc import Sequence

from services.collector.snapshot import Scaling
from services.kube_objects import Autoscaler, parse_time


def scaling_rows(items: Sequence[Autoscaler]) -> dict[str, Scaling]:
    """Return autoscalers by `<namespace>/HorizontalPodAutoscaler/<name>`.

    Raises:
        ValueError: a time stamp cannot be read.
    """
    return {
        f"{one.metadata.namespace}/HorizontalPodAutoscaler/{one.metadata.name}": Scaling(
            target=f"{one.spec.scale_target_ref.kind}/{one.spec.scale_target_ref.name}",
            current=one.status.current_replicas,
            desired=one.status.desired_replicas,
            scaled_time_seconds=parse_time(one.status.last_scale_time)
            if one.status.last_scale_time
            else None,
        )
        for one in items
    }
