"""Workloads whose requests this agent wished to change: what their owner had asked for, and when. A pure fold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from schemas.actions import Action, ResizeAction
from schemas.model import DataModel
from schemas.numbers import Rounded, Seconds
from schemas.sizes import PredictionSizes


class SizedWorkload(DataModel):
    """Requests of a pod before our first wish and after the newest one."""

    owner_cores: Rounded
    owner_bytes: int
    cores: Rounded
    bytes: int
    seconds: Seconds
    """Cluster time of the newest wish."""
    least_cores: Rounded = 0.0
    """Fewest that were requested since then: more were by pods that came since."""
    restored: bool = False
    """Whether it got back what its owner had asked for, after a restart; it is left alone then."""


def remember_sizes(
    sized: Mapping[str, SizedWorkload],
    actions: Iterable[Action],
    sizes: PredictionSizes | None,
    now_seconds: float,
) -> dict[str, SizedWorkload]:
    """Return the workloads after the agent's own wishes; those that are not measured any more are forgotten."""
    if sizes is None:
        return dict(sized)
    rows, asked = sizes.workloads.index(), sizes.workloads.cpu_request_cores
    known = {
        name: one.model_copy(update={"least_cores": min(one.least_cores, asked[rows[name]])})
        for name, one in sized.items()
        if name in rows
    }
    for action in actions:
        row = rows.get(action.target.name)
        if not isinstance(action, ResizeAction) or row is None:
            continue
        cores, size = asked[row], sizes.workloads.memory_request_bytes[row]
        before = known.get(action.target.name)
        owner = (cores, size) if before is None else (before.owner_cores, before.owner_bytes)
        new_cores = cores if action.cpu_request_cores is None else action.cpu_request_cores
        new_bytes = size if action.memory_request_bytes is None else action.memory_request_bytes
        known[action.target.name] = SizedWorkload(
            owner_cores=owner[0],
            owner_bytes=owner[1],
            cores=new_cores,
            bytes=new_bytes,
            seconds=now_seconds,
            least_cores=cores,
            restored=before is not None and new_cores >= owner[0] and new_bytes >= owner[1],
        )
    return known
