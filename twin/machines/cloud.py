"""The simulated cloud: it grants machines or refuses them, boots them, bills them and takes spot ones back.

An order is granted when the offering has capacity and the quota has room. A granted machine becomes a
node when it has booted; its boot time, and when the cloud takes a spot machine back, are drawn for the
machine alone, so one order changes nobody else's luck. A spot machine gets its notice through
`controllers/spot.py` and is gone at its end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from inputs.quantities import cpu_text, memory_text
from twin.chance import Chance
from twin.changes import Change
from twin.controllers.spot import Spot
from twin.intake import GPU
from twin.machines.catalogue import SPOT, Catalogue, Offering
from twin.part import Part, keepable
from twin.records import NodeRecord, Object
from twin.world import World

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
_HOUR_SECONDS = 3_600.0


class CloudRefusal(Exception):
    """An order that the cloud does not grant, with its code: `QuotaExceeded`, `InsufficientCapacity`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


@keepable
@dataclass(slots=True, eq=False)
class Machine:
    """One machine that was granted."""

    name: str
    """Of its node; also the machine's id."""
    owner: str
    """Group or pool that it was ordered for."""
    machine: str
    zone: str
    capacity_type: str
    price_per_hour: float
    ordered_at: float
    booted: bool = False
    stopping: bool = False
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    taints: tuple[Object, ...] = ()


class Cloud(Part):
    """Machines by the name of their node."""

    KEEPS = ("machines", "spent_dollars", "_orders")
    LEAVES = ("_counts",)

    def __init__(self, world: World, catalogue: Catalogue, spot: Spot) -> None:
        self._world = world
        self._config = world.config.provisioning.cloud
        self.catalogue = catalogue
        self._spot = spot
        spot.on_end = self._take_back
        self.machines: dict[str, Machine] = {}
        self.spent_dollars = 0.0  # for machines that are gone; `cost_dollars` has all
        self._orders: dict[str, int] = {}  # granted so far, by owner
        self._counts: dict[str, int] = {}  # what `count_of` has counted since the last change
        chance = Chance(world.seed)
        self._boots = chance.draws("machine boots")
        self._interruptions = chance.draws("spot interruptions")
        for kind, handler in (
            ("cloud.boot", self._boot),
            ("cloud.gone", self._end),
            ("cloud.interrupt", self._interrupt),
        ):
            world.clock.handle(kind, handler)

    # ---- what its customers ask

    def order(
        self,
        owner: str,
        name: str,
        offering: Offering,
        *,
        labels: Mapping[str, str],
        annotations: Mapping[str, str] | None = None,
        taints: Iterable[Object] = (),
        booted: bool = False,
    ) -> Machine:
        """Order a machine; `booted` ones are there at once. Raises CloudRefusal."""
        refusal = self.refusal(offering)
        if refusal is not None:
            raise refusal
        number = self._orders[owner] = self._orders.get(owner, 0) + 1
        shape, world = offering.machine, self._world
        machine = self.machines[name] = Machine(
            name,
            owner,
            shape.name,
            offering.zone,
            offering.capacity_type,
            offering.price,
            world.now,
        )
        self._counts.clear()
        machine.labels = {**_labels_of(offering, name), **labels}
        machine.annotations = dict(annotations or {})
        machine.taints = tuple(taints)
        wait = self._boots.lognormal(
            shape.boot_median_seconds, shape.boot_sigma, f"{owner}/{number}"
        )
        if booted:
            self._boot(name, world.now)
        elif shape.name not in self._config.never_boots:
            world.clock.after(wait, "cloud.boot", name, world.now)
        if offering.capacity_type == SPOT and shape.interruptions_per_hour > 0.0:
            mean = _HOUR_SECONDS / shape.interruptions_per_hour
            when = self._interruptions.exponential(mean, f"{owner}/{number}")
            world.clock.after(wait + when, "cloud.interrupt", name, world.now)
        return machine

    def refusal(self, offering: Offering) -> CloudRefusal | None:
        """Return why an offering cannot be had now, None when it can."""
        name = offering.machine.name
        if {name, f"{name}/{offering.capacity_type}"}.intersection(self._config.refuse):
            where = f"{offering.capacity_type} {name} in {offering.zone}"
            return CloudRefusal("InsufficientCapacity", f"there is no capacity for {where}")
        quota = self._config.quota_cores
        if quota > 0.0:
            catalogue = self.catalogue.by_name
            used = sum(
                catalogue[machine.machine].cpu_millicores for machine in self.machines.values()
            )
            if used + offering.machine.cpu_millicores > quota * 1000.0:
                return CloudRefusal("QuotaExceeded", f"the quota of {quota:g} cores is used up")
        return None

    def stop(self, name: str) -> None:
        """Give a machine back; one that is unknown or already stopping is left alone."""
        machine = self.machines.get(name)
        if machine is None or machine.stopping:
            return
        machine.stopping = True
        self._counts.clear()
        wait = self._config.terminate_seconds
        if wait <= 0.0:
            self._end(name, machine.ordered_at)
        else:
            self._world.clock.after(wait, "cloud.gone", name, machine.ordered_at)

    def of_owner(self, owner: str) -> list[Machine]:
        """Return the machines of a group or pool that are not being given back, oldest first."""
        return [
            machine
            for machine in self.machines.values()
            if machine.owner == owner and not machine.stopping
        ]

    def count_of(self, owner: str) -> int:
        """Return how many machines `of_owner` has."""
        count = self._counts.get(owner)
        if count is None:
            count = self._counts[owner] = len(self.of_owner(owner))
        return count

    def restored(self) -> None:
        """Count anew."""
        self._counts.clear()

    def cost_dollars(self) -> float:
        """Return what all machines have cost so far; a machine is billed from its order."""
        running = (self._bill(machine) for machine in self.machines.values())
        return self.spent_dollars + math.fsum(running)

    def power_range(self, node_name: str) -> tuple[float, float] | None:
        """Return (idle, full) watts of a rented machine, None for any other or an unknown figure."""
        machine = self.machines.get(node_name)
        if machine is None:
            return None
        shape = self.catalogue.by_name[machine.machine]
        return (shape.idle_watts, shape.full_watts) if shape.full_watts > 0.0 else None

    def follow(self, change: Change) -> None:
        """Forget a machine whose node was taken away with it, as at the end of a spot notice."""
        machine = self.machines.get(change.record.name)
        if change.type == "DELETED" and machine is not None and machine.booted:
            self._drop(machine)

    # ---- what happens to machines

    def _boot(self, name: str, ordered_at: float) -> None:
        machine = self._machine(name, ordered_at)
        if machine is None or machine.stopping or machine.booted:
            return
        machine.booted = True
        shape = self.catalogue.by_name[machine.machine]
        obj: Object = {
            "metadata": {
                "name": name,
                "labels": machine.labels,
                "annotations": machine.annotations,
            },
            "spec": {"taints": list(machine.taints)},
            "status": {
                "allocatable": {
                    "cpu": cpu_text(shape.cpu_millicores),
                    "memory": memory_text(shape.memory_bytes),
                    "pods": str(shape.pods),
                    GPU: str(shape.gpus),
                }
            },
        }
        self._world.store.create("nodes", "", obj)

    def _interrupt(self, name: str, ordered_at: float) -> None:
        machine = self._machine(name, ordered_at)
        if machine is None or machine.stopping:
            return
        if not machine.booted:
            self._drop(machine)
            return
        self._spot.reclaim(name, self._world.config.machines.spot_notice_seconds)

    def _take_back(self, name: str) -> None:
        """End the rent of a machine whose notice is over, whoever gave it."""
        machine = self.machines.get(name)
        if machine is not None and machine.booted:
            self._drop(machine)

    def _end(self, name: str, ordered_at: float) -> None:
        machine = self._machine(name, ordered_at)
        if machine is None:
            return
        self._drop(machine)
        if isinstance(self._world.store.find("nodes", "", name), NodeRecord):
            self._world.store.delete("nodes", "", name)

    def _drop(self, machine: Machine) -> None:
        self.spent_dollars += self._bill(machine)
        del self.machines[machine.name]
        self._counts.clear()

    def _bill(self, machine: Machine) -> float:
        return machine.price_per_hour * (self._world.now - machine.ordered_at) / _HOUR_SECONDS

    def _machine(self, name: str, ordered_at: float) -> Machine | None:
        found = self.machines.get(name)
        return found if found is not None and found.ordered_at == ordered_at else None


def _labels_of(offering: Offering, name: str) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        INSTANCE_TYPE: offering.machine.name,
        ZONE: offering.zone,
        CAPACITY_TYPE: offering.capacity_type,
        "foresail.dev/simulated": "true",
    }
