"""NodePorts: no other pod on the node holds a host port that the pod requests.

Upstream: pkg/scheduler/framework/plugins/nodeports/node_ports.go and HostPortInfo.CheckConflict.
"""

from __future__ import annotations

import numpy as np

from twin.needs import ANY_ADDRESS, HostPort
from twin.records import PodRecord
from twin.scheduling.node_table import Flags
from twin.scheduling.pod_index import PodIndex

REASON = "node(s) didn't have free ports for the requested pod ports"


def conflict(mine: HostPort, other: HostPort) -> bool:
    """True when two pods with these ports cannot share a machine."""
    if (mine.protocol, mine.port) != (other.protocol, other.port):
        return False
    return mine.address == other.address or ANY_ADDRESS in (mine.address, other.address)


class PortsFilter:
    """The answer for one pod on all nodes."""

    plugin = "NodePorts"

    def __init__(self, index: PodIndex, pod: PodRecord, count: int) -> None:
        index.activate()
        self._index = index
        self._wanted = pod.shape.needs.host_ports
        self._count = count

    def passing(self) -> Flags:
        """Return the rows without a conflict."""
        mask = np.ones(self._count, np.bool_)
        for row, ports_by_pod in self._index.ports.items():
            if any(self.conflicts(ports) for ports in ports_by_pod.values()):
                mask[row] = False
        return mask

    def reasons(self) -> list[tuple[str, Flags, bool]]:
        """Return (reason, rows, whether taking pods away could help)."""
        return [(REASON, ~self.passing(), True)]

    def trial(self, row: int) -> PortsTrial:
        """Return one node to try changes on."""
        ports_by_pod = self._index.ports.get(row, {})
        return PortsTrial(self, dict(ports_by_pod))

    def conflicts(self, ports: tuple[HostPort, ...]) -> bool:
        """True when one of `ports` is in the way of the pod."""
        return any(conflict(mine, other) for mine in self._wanted for other in ports)


class PortsTrial:
    """The host ports of one node while pods are taken from it and put back in thought."""

    def __init__(self, owner: PortsFilter, ports_by_pod: dict[str, tuple[HostPort, ...]]) -> None:
        self._owner = owner
        self._held = ports_by_pod

    def shift(self, pod: PodRecord, sign: int) -> None:
        """Put a pod on the node (1) or take it away (-1)."""
        ports = pod.shape.needs.host_ports
        if sign > 0 and ports:
            self._held[pod.uid] = ports
        elif sign < 0:
            self._held.pop(pod.uid, None)

    def reasons(self) -> tuple[str, ...]:
        """Return the reasons against the node as of now."""
        in_use = any(self._owner.conflicts(ports) for ports in self._held.values())
        return (REASON,) if in_use else ()
