"""A cluster whose machines come and go continues the same from a clone and from a stored state."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from twin.config import TwinConfig
from twin.config.provisioning import (
    ClusterAutoscalerConfig,
    KarpenterConfig,
    MachineType,
    NodeGroup,
    Provisioner,
    ProvisioningConfig,
    WarmPoolConfig,
)
from twin.encoding import read_state, state_lines
from twin.engine import Engine
from twin.workloads.arrival import WorkloadArrival

GIB = 2**30
RENTING: tuple[Provisioner, ...] = ("cluster-autoscaler", "karpenter", "warm-pool")
Build = Callable[..., Engine]


@pytest.fixture
def build() -> Build:
    """Build a cluster without nodes of its own that rents machines for what arrives: build(name)."""

    def built(provisioner: Provisioner, seed: int = 4) -> Engine:
        machine = MachineType("m", 4_000, 16 * GIB, 0.2, 0.06, zones=("a", "b"),
                              interruptions_per_hour=3.0)  # fmt: skip
        config = ProvisioningConfig(
            provisioner=provisioner,
            machines=(machine,),
            groups=(NodeGroup("g", "m", most=20, start=1, spot=True),),
            cluster_autoscaler=ClusterAutoscalerConfig(
                unneeded_seconds=60.0, delay_after_add_seconds=60.0
            ),
            karpenter=KarpenterConfig(),
            warm_pool=WarmPoolConfig(size=6, warm=4),
        )
        engine = Engine(TwinConfig(provisioning=config), seed=seed)
        engine.load(iter([_arrival(number) for number in range(60)]))
        return engine

    return built


def _arrival(number: int) -> WorkloadArrival:
    return WorkloadArrival(
        time_seconds=number * 20.0,
        name=f"w{number}",
        kind="service" if number % 3 else "task",
        cpu_request_millicores=700 + 100 * (number % 5),
        memory_request_bytes=GIB,
        gpus=0,
        cpu_usage_ratio=0.5,
        memory_usage_ratio=0.5,
        duration_seconds=150.0 + 40.0 * (number % 7),
        outcome="run" if number % 3 else "succeed",
    )


@pytest.mark.parametrize("provisioner", RENTING)
def test_a_clone_goes_on_alike(build: Build, provisioner: Provisioner) -> None:
    """At any moment, also in the middle of a scale-down or a drain, a clone has the same future."""
    engine = build(provisioner)
    for _ in range(12):
        engine.advance(engine.now + 97.0)
        other = engine.clone()
        assert other.state_hash() == engine.state_hash()
        other.advance(other.now + 150.0)
        again = engine.clone()
        again.advance(again.now + 150.0)
        assert other.state_hash() == again.state_hash()
    engine.advance(engine.now + 150.0)
    assert engine.state_hash() == other.state_hash()


@pytest.mark.parametrize("provisioner", RENTING)
def test_a_stored_state_goes_on_alike(build: Build, provisioner: Provisioner) -> None:
    """What is written of a state and read again has the same hash, then and later: while machines come,
    and while they go.
    """
    engine = build(provisioner)
    began = engine.now
    for until in (611.0, 680.0, 1_280.0, 1_400.0):
        engine.advance(began + until)
        other = build(provisioner)
        lines = state_lines(engine.seed, engine.config, engine.parts)
        other.take(read_state(iter(lines), other.seed, other.config, other.parts))
        for _ in range(2):
            assert other.state_hash() == engine.state_hash()
            engine.advance(engine.now + 30.0)
            other.advance(other.now + 30.0)
        assert other.state_hash() == engine.state_hash()


@pytest.mark.parametrize("provisioner", RENTING)
def test_slices_change_nothing(build: Build, provisioner: Provisioner) -> None:
    """However time is sliced, and whatever is read in between, the state is the same."""
    whole, sliced = build(provisioner), build(provisioner)
    whole.advance(whole.now + 900.0)
    while sliced.now < whole.now:
        sliced.advance(min(whole.now, sliced.now + 7.3))
        list(sliced.store.list("nodes"))
    assert sliced.state_hash() == whole.state_hash()


@pytest.mark.parametrize("provisioner", RENTING)
def test_machines_come_and_go(build: Build, provisioner: Provisioner) -> None:
    """The load is carried by rented machines, and most of them are given back when it is over."""
    engine = build(provisioner)
    counts = []
    for _ in range(60):
        engine.advance(engine.now + 60.0)
        counts.append(len(engine.cloud.machines))
        assert all(name in engine.cloud.machines or not _is_rented(engine, name)
                   for name in _names(engine))  # fmt: skip
    assert max(counts) >= 3
    assert engine.cloud.cost_dollars() > 0.0
    if provisioner != "warm-pool":
        assert counts[-1] < max(counts)


def _names(engine: Engine) -> list[str]:
    return [record.name for record in engine.store.records("nodes")]


def _is_rented(engine: Engine, name: str) -> bool:
    """True for a node that the API shows as rented, not being deleted and not reclaimed."""
    node = engine.world.node(name)
    assert node is not None
    return (
        node.deletion_at is None and node.ready_status == "True" and name not in engine.world.down
    )
