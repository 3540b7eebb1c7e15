"""Which port each process of a stack answers /healthz, /readyz and /metrics on."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from bus.hang_watch import hang_variables
from bus.health import LOOPBACK, PORT_VARIABLE
from foresail.stack.processes import ProcessSpec


def free_ports(count: int) -> list[int]:
    """Return so many different loopback ports that were free a moment ago."""
    with ExitStack() as cleanup:
        probes = [cleanup.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((LOOPBACK, 0))
        return [probe.getsockname()[1] for probe in probes]


def with_health_ports(
    specs: Sequence[ProcessSpec], frozen_seconds: float
) -> tuple[tuple[ProcessSpec, ...], dict[str, int]]:
    """Give each process a port, and the time after which it may not hang any longer; return the
    processes and the ports by name.
    """
    hanging = hang_variables(frozen_seconds)
    ports = {spec.name: port for spec, port in zip(specs, free_ports(len(specs)), strict=True)}
    specs_with_ports = tuple(
        replace(
            spec,
            environment={**spec.environment, **hanging, PORT_VARIABLE: str(ports[spec.name])},
        )
        for spec in specs
    )
    return specs_with_ports, ports
