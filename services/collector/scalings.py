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
        f"{item.metadata.namespace}/HorizontalPodAutoscaler/{item.metadata.name}": Scaling(
            target=f"{item.spec.scale_target_ref.kind}/{item.spec.scale_target_ref.name}",
            current=item.status.current_replicas,
            desired=item.status.desired_replicas,
            scaled_time_seconds=parse_time(item.status.last_scale_time)
            if item.status.last_scale_time
            else None,
        )
        for item in items
    }
