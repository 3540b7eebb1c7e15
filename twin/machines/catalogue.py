"""What can be rented: machine types, and their offerings by zone and capacity type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from twin.config.provisioning import MachineType, NodeGroup, ProvisioningConfig
from twin.machines.public_shapes import default_shapes

SPOT, ON_DEMAND = "spot", "on-demand"


@dataclass(frozen=True, slots=True)
class Offering:
    """One machine type in one zone, at the price of one capacity type (dollars an hour)."""

    machine: MachineType
    zone: str
    capacity_type: str
    price: float


@dataclass(frozen=True)
class Catalogue:
    """All machine types, in order of their table."""

    machines: tuple[MachineType, ...]

    @cached_property
    def by_name(self) -> dict[str, MachineType]:
        """Machine types by name."""
        return {machine.name: machine for machine in self.machines}

    @cached_property
    def _offerings(self) -> dict[str, tuple[Offering, ...]]:
        return {machine.name: tuple(_offerings(machine)) for machine in self.machines}

    def offerings(self, name: str) -> tuple[Offering, ...]:
        """Return the offerings of a machine type; raises KeyError for an unknown one."""
        return self._offerings[name]


def catalogue_of(config: ProvisioningConfig) -> Catalogue:
    """Return the catalogue that the settings name."""
    return Catalogue(config.machines or default_shapes())


def groups_of(config: ProvisioningConfig, catalogue: Catalogue) -> tuple[NodeGroup, ...]:
    """Return the node groups that the settings name, or one of each machine type without GPU."""
    if config.groups:
        return config.groups
    return tuple(
        NodeGroup(machine.name, machine.name, most=100)
        for machine in catalogue.machines
        if not machine.gpus
    )


def _offerings(machine: MachineType) -> Iterator[Offering]:
    for zone in machine.zones:
        if machine.spot_price_per_hour > 0.0:
            yield Offering(machine, zone, SPOT, machine.spot_price_per_hour)
        yield Offering(machine, zone, ON_DEMAND, machine.price_per_hour)
