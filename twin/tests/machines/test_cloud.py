"""The simulated cloud grants, refuses, bills and takes back as it was told."""

from __future__ import annotations

import pytest

from twin.config import TwinConfig
from twin.config.provisioning import CloudConfig, MachineType, ProvisioningConfig
from twin.engine import Engine
from twin.machines.cloud import CloudRefusal
from twin.records import NodeRecord

GIB = 2**30
SMALL = MachineType(
    "small",
    2_000,
    8 * GIB,
    0.12,
    0.04,
    zones=("a", "b"),
    boot_sigma=0.3,
    idle_watts=5,
    full_watts=9,
)
SHAKY = MachineType("shaky", 4_000, 8 * GIB, 0.2, 0.06, interruptions_per_hour=6.0)


@pytest.fixture
def rent() -> type[Renting]:
    """A cloud to order from."""
    return Renting


class Renting:
    """A cluster whose cloud is asked directly."""

    def __init__(self, seed: int = 3, **cloud: object) -> None:
        config = ProvisioningConfig(
            machines=(SMALL, SHAKY),
            cloud=CloudConfig(**cloud),  # type: ignore[arg-type]
        )
        self.engine = Engine(TwinConfig(provisioning=config), seed=seed)
        self.cloud = self.engine.cloud

    def order(self, name: str, machine: str = "small", capacity: str = "on-demand") -> None:
        """Order one in its first zone."""
        offering = next(
            one for one in self.cloud.catalogue.offerings(machine) if one.capacity_type == capacity
        )
        self.cloud.order("me", name, offering, labels={"a": "b"})

    def nodes(self) -> list[str]:
        """Return the names of the nodes of rented machines."""
        return sorted(
            name
            for name in (node.name for node in self.engine.store.records("nodes"))
            if name[0] == "n"
        )

    def node(self, name: str) -> NodeRecord | None:
        """Return a node."""
        found = self.engine.store.find("nodes", "", name)
        return found if isinstance(found, NodeRecord) else None

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.engine.advance(self.engine.now + seconds)


def test_a_machine_becomes_a_node_when_it_has_booted(rent: type[Renting]) -> None:
    """Not at once and not all at the same time; its labels say what it is."""
    one = rent()
    for number in range(20):
        one.order(f"n{number}")
    assert one.nodes() == []
    counts = []
    for _ in range(150):
        one.wait(1.0)
        counts.append(len(one.nodes()))

    assert counts[-1] == 20
    assert len({*counts}) > 8
    median = next(second for second, count in enumerate(counts) if count >= 10)
    assert 30 <= median <= 60
    node = one.node("n3")
    assert node is not None
    labels = node.labels
    assert labels["node.kubernetes.io/instance-type"] == "small"
    assert labels["topology.kubernetes.io/zone"] == "a"
    assert labels["karpenter.sh/capacity-type"] == "on-demand"
    assert labels["a"] == "b"


def test_what_the_cloud_does_not_have_is_refused(rent: type[Renting]) -> None:
    """By machine type, or by capacity type alone."""
    one = rent(refuse=("shaky", "small/spot"))
    for machine, capacity in (("shaky", "on-demand"), ("shaky", "spot"), ("small", "spot")):
        with pytest.raises(CloudRefusal, match="InsufficientCapacity"):
            one.order("n1", machine, capacity)
    one.order("n2")

    assert list(one.cloud.machines) == ["n2"]


def test_a_quota_counts_the_cores_that_run(rent: type[Renting]) -> None:
    """Machines that boot count; one that is given back makes room."""
    one = rent(quota_cores=5.0)
    one.order("n1")
    one.order("n2")
    with pytest.raises(CloudRefusal, match="QuotaExceeded"):
        one.order("n3")
    one.cloud.stop("n1")
    one.order("n3")

    assert list(one.cloud.machines) == ["n2", "n3"]


def test_a_machine_that_never_boots_costs_all_the_same(rent: type[Renting]) -> None:
    """It is granted, billed, and never a node."""
    one = rent(never_boots=("small",))
    one.order("n1")
    one.wait(7_200.0)

    assert one.nodes() == []
    assert one.cloud.cost_dollars() == pytest.approx(0.24)


def test_the_bill_ends_with_the_machine(rent: type[Renting]) -> None:
    """An hour of one and two of another, from order to end; stopping takes as long as it was told."""
    one = rent(terminate_seconds=60.0)
    one.order("n1")
    one.order("n2", capacity="spot")
    one.wait(3_600.0)
    one.cloud.stop("n1")
    assert one.nodes() == ["n1", "n2"]
    one.wait(60.0)
    assert one.nodes() == ["n2"]
    one.wait(3_540.0)

    assert one.cloud.cost_dollars() == pytest.approx(0.12 * 3_660 / 3_600 + 0.04 * 2)


def test_a_spot_machine_is_taken_back_with_notice(rent: type[Renting]) -> None:
    """The node is tainted and told two minutes before, then gone, and no longer billed."""
    one = rent()
    one.order("n1", "shaky", "spot")
    one.order("n2", "shaky")
    seen = []
    for _ in range(9_000):
        one.wait(1.0)
        node = one.node("n1")
        noticed = node is not None and any("spot" in taint["key"] for taint in node.taints)
        seen.append((noticed, "n1" in one.cloud.machines))
        if seen[-1] == (False, False):
            break

    noticed_seconds = sum(noticed and rented for noticed, rented in seen)
    assert 118 <= noticed_seconds <= 122
    paid = one.cloud.spent_dollars
    one.wait(600.0)
    assert one.cloud.spent_dollars == paid
    assert one.nodes() == ["n2"]


def test_a_notice_that_a_scenario_gives_ends_the_rent(rent: type[Renting]) -> None:
    """The cloud no longer has, and bills, a machine whose notice is over, whoever gave it."""
    one = rent()
    one.order("n1")
    one.wait(600.0)
    one.engine.spot.reclaim("n1", 60.0)
    one.wait(59.0)
    assert list(one.cloud.machines) == ["n1"]
    one.wait(2.0)

    assert list(one.cloud.machines) == []
    assert one.cloud.cost_dollars() == pytest.approx(0.12 * 660 / 3_600)


def test_an_order_changes_nobody_elses_luck(rent: type[Renting]) -> None:
    """The boot times of one customer's machines stay when another orders in between."""
    alone, beside = rent(), rent()
    for number in range(5):
        alone.order(f"n{number}")
        beside.order(f"n{number}")
        offering = beside.cloud.catalogue.offerings("small")[1]
        beside.cloud.order("other", f"m{number}", offering, labels={})
    for _ in range(120):
        alone.wait(1.0)
        beside.wait(1.0)
        assert alone.nodes() == beside.nodes()
    assert len(alone.nodes()) == 5


def test_a_machines_own_watts_count(rent: type[Renting]) -> None:
    """An idle machine of the catalogue draws its idle watts, not those of the twin's model node."""
    one = rent()
    one.order("n1")
    one.wait(200.0)

    assert one.cloud.power_range("n1") == (5, 9)
    assert one.cloud.power_range("n2") is None
