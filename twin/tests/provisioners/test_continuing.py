"""A cluster whose machines come and go continues the same from a clone and from a stored state."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from twin.config.provisioning import Provisioner
from twin.encoding import read_state, state_lines
from twin.engine import Engine

RENTING: tuple[Provisioner, ...] = ("cluster-autoscaler", "karpenter", "warm-pool")
Build = Callable[..., Engine]


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
