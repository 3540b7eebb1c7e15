"""How a policy's choice is brought to Kueue, by what Kueue offers for it; quota and preemption stay Kueue's.

`queue`: Jobs wait in a LocalQueue that admits nobody, and whoever is chosen is moved to the one that does.
`active`: whoever is to wait although it fits is deactivated (`spec.active` of its Workload), and activated once it is
chosen; a Job that has just come may be admitted before it is seen. `priority`: Workloads in the policy's slots go
first, in the order of their scores, by their priority while they are pending; nobody is held back, so it cannot wait.

What a Workload was like before stands in its annotations, by which all of it is given back. Workloads that somebody
else has deactivated are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lab.queue.manifests import LOCAL_QUEUE, OWNER
from lab.queue.objects import GROUP, HELD_BY, OWN_PRIORITY, QUEUE_LABEL, Workload
from schemas.queue import QueueChoice, QueueMeans
from services.cluster import MERGE_PATCH, ClusterRefused, Transport

FIRST_PRIORITY = 1_000_000
"""Of the Workload that goes first; Jobs' own are far below."""


@dataclass(frozen=True, slots=True)
class Write:
    """One patch, stated as an absolute end."""

    path: str
    patch: dict[str, Any]
    text: str


def writes_for(
    means: QueueMeans,
    choices: Sequence[QueueChoice],
    workloads: Iterable[Workload],
    namespace: str,
    version: str,
) -> Iterator[Write]:
    """Yield what makes Kueue admit the chosen Jobs alone, or all in the policy's order.

    Args:
        means: by which.
        choices: at one look, in order.
        workloads: of the namespace, as they were read.
        namespace: of the Jobs.
        version: of Kueue's API.
    """
    chosen = [one.admits for one in choices if one.admits is not None]
    if means == "queue":
        for name in chosen:
            path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
            patch = {"metadata": {"labels": {QUEUE_LABEL: LOCAL_QUEUE}}}
            yield Write(path, patch, f"{name} moves to the queue {LOCAL_QUEUE}")
        return
    base = f"/apis/{GROUP}/{version}/namespaces/{namespace}/workloads"
    waiting = [one for one in workloads if one.job and one.waits]
    names = chosen if means == "active" else ranked(choices)
    for one in sorted(waiting, key=lambda one: one.job not in chosen):  # who is let in comes first
        made = _activity if means == "active" else _priority
        write = made(one, names)
        if write is not None:
            yield Write(f"{base}/{one.metadata.name}", *write)


def ranked(choices: Sequence[QueueChoice]) -> list[str]:
    """Return the Jobs in a policy's slots, those that it admits first, then the others by their scores."""
    chosen = [one.admits for one in choices if one.admits is not None]
    last = choices[-1] if choices else None
    if last is None:
        return chosen
    scored = zip(last.slots, last.scores, strict=False)  # the last action is to wait
    rest = [name for name, _ in sorted(scored, key=lambda pair: -pair[1]) if name not in chosen]
    return chosen + rest


def held_elsewhere(workloads: Iterable[Workload]) -> tuple[str, ...]:
    """Return the Jobs whose Workload somebody else has deactivated."""
    return tuple(sorted(one.job for one in workloads if one.job and _foreign(one)))


def hand_back(workloads: Iterable[Workload], namespace: str, version: str) -> Iterator[Write]:
    """Yield what takes all of it back: nobody deactivated by us, and every priority its own."""
    base = f"/apis/{GROUP}/{version}/namespaces/{namespace}/workloads"
    for one in workloads:
        notes = one.metadata.annotations
        spec: dict[str, Any] = {}
        if HELD_BY in notes:
            spec["active"] = True
        if OWN_PRIORITY in notes and one.waits:
            spec["priority"] = one.own_priority
        if spec:
            patch = {"metadata": _notes(**{HELD_BY: None, OWN_PRIORITY: None}), "spec": spec}
            yield Write(f"{base}/{one.metadata.name}", patch, f"{one.job} is given back")


async def bring(transport: Transport, writes: Iterable[Write]) -> list[str]:
    """Write; a Job or Workload that is gone, or was admitted in the meantime, is passed over. Return what was done.

    Raises:
        ClusterUnavailable: no answer.
        ClusterRefused: it may not be written.
    """
    done = []
    for write in writes:
        try:
            await transport.request("PATCH", write.path, None, write.patch, MERGE_PATCH)
        except ClusterRefused as error:
            if error.status not in {404, 409, 422}:
                raise
        else:
            done.append(write.text)
    return done


def _activity(one: Workload, chosen: Sequence[str]) -> tuple[dict[str, Any], str] | None:
    if _foreign(one):
        return None
    wanted = one.job in chosen
    if wanted == one.spec.active:
        return None
    mark = None if wanted else OWNER
    patch = {"metadata": _notes(**{HELD_BY: mark}), "spec": {"active": wanted}}
    return patch, f"{one.job} is {'activated' if wanted else 'held back'}"


def _priority(one: Workload, names: Sequence[str]) -> tuple[dict[str, Any], str] | None:
    own = one.own_priority
    is_ranked = one.job in names
    wanted = FIRST_PRIORITY - names.index(one.job) if is_ranked else own
    if wanted == one.spec.priority:
        return None
    mark = str(own) if is_ranked else None
    patch = {"metadata": _notes(**{OWN_PRIORITY: mark}), "spec": {"priority": wanted}}
    text = (
        f"goes as number {names.index(one.job) + 1}"
        if is_ranked
        else f"has its own priority {own} again"
    )
    return patch, f"{one.job} {text}"


def _notes(**values: str | None) -> dict[str, Any]:
    return {"annotations": values}


def _foreign(one: Workload) -> bool:
    return one.waits and not one.spec.active and HELD_BY not in one.metadata.annotations
