"""Which port each process of a stack answers /healthz, /readyz and /metrics on, and the dashboard's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bus.hang_watch import hang_variables
from bus.health import PORT_VARIABLE
from bus.ports import hold_port
from foresail.settings import StackSettings
from foresail.stack.processes import ProcessSpec


def with_health_ports(
    specs: Sequence[ProcessSpec], frozen_seconds: float, owner: object
) -> tuple[tuple[ProcessSpec, ...], dict[str, int]]:
    """Give each process a port, and the time after which it may not hang any longer; return the
    processes and the ports by name, theirs as long as `owner` lives.
    """
    hanging = hang_variables(frozen_seconds)
    ports = {spec.name: hold_port(owner) for spec in specs}
    specs_with_ports = tuple(
        replace(
            spec,
            environment={**spec.environment, **hanging, PORT_VARIABLE: str(ports[spec.name])},
        )
        for spec in specs
    )
    return specs_with_ports, ports


def with_dashboard_port(settings: StackSettings, owner: object) -> StackSettings:
    """Return the settings with a free dashboard port where 0 asks for one, held as long as `owner` lives."""
    if settings.dashboard.port != 0:
        return settings
    chosen = settings.dashboard.model_copy(update={"port": hold_port(owner)})
    return settings.model_copy(update={"dashboard": chosen})
