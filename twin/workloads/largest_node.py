"""Whether a request can be placed at all: impossible ones are refused when a file is read.

A pod that no node of the cluster could hold even when empty would wait for ever; nobody means that
when they write a workload file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from twin.workloads.arrival import NodeShape, WorkloadArrival


class Misfit(NamedTuple):
    """Which field asks for too much, what it asks for, and what to do."""

    field: str
    value: object
    remedy: str


_FIELDS = ("cpu_request_millicores", "memory_request_bytes", "gpus")


class LargestNode:
    """The largest amounts that single nodes offer."""

    def __init__(self, nodes: Iterable[NodeShape]) -> None:
        """Take the cluster's machines; there must be at least one."""
        shapes = {(node.cpu_millicores, node.memory_bytes, node.gpus) for node in nodes}
        self._shapes = sorted(shapes, reverse=True)
        self._most = tuple(max(amounts) for amounts in zip(*self._shapes, strict=True))
        self._known: dict[tuple[int, int, int], bool] = {}

    def holds(self, arrival: WorkloadArrival) -> bool:
        """True when an empty node of this cluster could hold one pod of the arrival."""
        wanted = (arrival.cpu_request_millicores, arrival.memory_request_bytes, arrival.gpus)
        if wanted not in self._known:
            self._known[wanted] = any(
                all(need <= offer for need, offer in zip(wanted, shape, strict=True))
                for shape in self._shapes
            )
        return self._known[wanted]

    def misfit(self, arrival: WorkloadArrival) -> Misfit | None:
        """Say why no node could ever hold a pod of the arrival; None when one could."""
        if self.holds(arrival):
            return None
        for field, most in zip(_FIELDS, self._most, strict=True):
            wanted = getattr(arrival, field)
            if wanted > most:
                remedy = f"no node offers more than {most}; ask for less or add a larger node"
                return Misfit(field, wanted, remedy)
        wanted = (arrival.cpu_request_millicores, arrival.memory_request_bytes, arrival.gpus)
        remedy = "no single node offers all of it; ask for less or add a larger node"
        return Misfit("request", "{} millicores, {} bytes, {} GPUs".format(*wanted), remedy)
