"""Instance types in a run of the solver: which hold what, meet which requirements, and are offered
(pkg/cloudprovider/types.go, controllers/provisioning/scheduling/nodeclaim.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from inputs.quantities import cpu_text, memory_text
from twin.config.provisioning import MachineType
from twin.machines.catalogue import Catalogue, Offering
from twin.needs import BASIC_RESOURCES
from twin.provisioners.karpenter.names import ARCH, CAPACITY_TYPE, INSTANCE_TYPE, OS, ZONE
from twin.provisioners.karpenter.requirements import (
    Requirement,
    Requirements,
    listed,
    one_of,
)

Available = Callable[[Offering], bool]
_Wanted = tuple[str | Requirement | None, ...]
"""A machine type, and what is required of the labels that types and offerings have."""
_ABOUT_TYPES = (INSTANCE_TYPE, ARCH, OS, ZONE, CAPACITY_TYPE)


class InstanceTypes:
    """A catalogue at one moment; answers are remembered, so it is for one run."""

    def __init__(self, catalogue: Catalogue, available: Available) -> None:
        self._catalogue = catalogue
        self._available = available
        self._usable: dict[_Wanted, bool] = {}
        self.machines = catalogue.machines
        self.zones = sorted({zone for machine in catalogue.machines for zone in machine.zones})

    def filter(
        self, types: Iterable[MachineType], requirements: Requirements, used: Sequence[int]
    ) -> list[MachineType]:
        """Return the types that hold so much, meet the requirements and can be had."""
        return [one for one in types if _holds(one, used) and self._is_usable(one, requirements)]

    def _is_usable(self, machine: MachineType, requirements: Requirements) -> bool:
        wanted = (machine.name, *(requirements.get(key) for key in _ABOUT_TYPES))
        found = self._usable.get(wanted)
        if found is None:
            found = _compatible(machine, requirements) and bool(
                self.offerings(machine, requirements)
            )
            self._usable[wanted] = found
        return found

    def offerings(self, machine: MachineType, requirements: Requirements) -> list[Offering]:
        """Return the offerings of a type that requirements allow and that can be had."""
        return [
            one
            for one in self._catalogue.offerings(machine.name)
            if _allows(requirements, one) and self._available(one)
        ]

    def error(
        self, requirements: Requirements, types: list[MachineType], used: list[int], *, extra: bool
    ) -> str:
        """Return why none of the types will do, in the sentence of InstanceTypeFilterError; `extra`:
        something is asked for that no type has.
        """
        met = [_compatible(one, requirements) for one in types]
        fits = [_holds(one, used) and not extra for one in types]
        offered = [bool(self.offerings(one, requirements)) for one in types]
        lacking = [
            text
            for flags, text in (
                (met, "met the scheduling requirements"),
                (fits, "had enough resources"),
                (offered, "had a required offering"),
            )
            if not any(flags)
        ]
        alone = {
            "met the scheduling requirements": "no instance type met all requirements",
            "had enough resources": "no instance type has enough resources",
            "had a required offering": "no instance type has the required offering",
        }
        if len(lacking) == 1:
            text = alone[lacking[0]]
        elif lacking:
            text = f"no instance type {' or '.join(lacking)}"
        elif any(a and b for a, b in zip(met, fits, strict=True)):
            text = (
                "no instance type which met the scheduling requirements and had enough resources, "
                "had a required offering"
            )
        else:
            text = "no instance type met the requirements/resources/offering tuple"
        return f"{text}, requirements={listed(requirements)}, resources={_resources(used)}"


def cheapest(offerings: Iterable[Offering]) -> float:
    """Return the lowest price of offerings, infinity for none."""
    return min((one.price for one in offerings), default=float("inf"))


def capacity(machine: MachineType) -> tuple[int, int, int, int]:
    """Return BASIC_RESOURCES of a type."""
    return (machine.cpu_millicores, machine.memory_bytes, machine.gpus, machine.pods)


def is_within(machine: MachineType, room: dict[str, int]) -> bool:
    """True for a type that a pool's limits leave room for."""
    amounts = dict(zip(BASIC_RESOURCES, capacity(machine), strict=True))
    return all(amounts.get(name, 0) <= left for name, left in room.items() if name != "nodes")


def less_most(room: dict[str, int], types: list[MachineType]) -> dict[str, int]:
    """Return the room of a pool less the most that a machine may turn out to be."""
    most = [max(line) for line in zip(*map(capacity, types), strict=True)]
    amounts = {**dict(zip(BASIC_RESOURCES, most, strict=True)), "nodes": 1}
    return {name: left - amounts.get(name, 0) for name, left in room.items()}


def _holds(machine: MachineType, used: Sequence[int]) -> bool:
    return all(amount <= held for amount, held in zip(used, capacity(machine), strict=True))


def _compatible(machine: MachineType, requirements: Requirements) -> bool:
    types = {
        INSTANCE_TYPE: one_of(machine.name),
        ARCH: one_of("amd64"),
        OS: one_of("linux"),
        ZONE: one_of(*machine.zones),
        CAPACITY_TYPE: one_of("on-demand", *(("spot",) if machine.spot_price_per_hour else ())),
    }
    return all(
        key not in requirements or entry.intersects(requirements[key])
        for key, entry in types.items()
    )


def _allows(requirements: Requirements, offering: Offering) -> bool:
    zone, kind = requirements.get(ZONE), requirements.get(CAPACITY_TYPE)
    return (zone is None or zone.has(offering.zone)) and (
        kind is None or kind.has(offering.capacity_type)
    )


def _resources(used: Sequence[int]) -> str:
    cpu, memory, _, pods = used
    return f'{{"cpu":"{cpu_text(cpu)}","memory":"{memory_text(memory)}","pods":"{pods}"}}'
