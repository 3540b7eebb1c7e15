"""Agents B and C by expected value: empty machines sleep within a reserve, wake when needed; nothing is held back."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import AdmissionAction, PowerStateAction
from schemas.proposal import Proposal, ProposalStatus
from services.agents.demand_sample import DemandSample
from services.agents.efficiency.value import rises_within
from services.agents.value_settings import ValueSettings
from tests.agents.value_world import ValueWorld

EMPTY: dict[str, Any] = {"pods": 0, "cpu_requested_ratio": 0.0, "memory_requested_ratio": 0.0}
BUSY: dict[str, Any] = {"pods": 4, "cpu_requested_ratio": 0.5, "memory_requested_ratio": 0.5}
ASLEEP: dict[str, Any] = {
    **EMPTY, "power_state": "sleep", "schedulable": False, "power_watts": 12.0,
}  # fmt: skip
WARM = 42
"""Steps after which demand has been known for long enough."""


def machines(busy: int, empty: int, asleep: int = 0) -> dict[str, dict[str, Any]]:
    """Return so many machines of each kind."""
    rows = {f"busy-{number}": dict(BUSY) for number in range(busy)}
    rows |= {f"empty-{number}": dict(EMPTY) for number in range(empty)}
    return rows | {f"sleeping-{number}": dict(ASLEEP) for number in range(asleep)}


def target(proposal: Proposal, state: str) -> str:
    """Return which machine a proposal switches to `state`."""
    assert isinstance(proposal.action, PowerStateAction)
    assert proposal.action.power_state == state
    return proposal.action.target.name


def test_an_empty_machine_sleeps_once_demand_is_known() -> None:
    """Not in the first ten minutes; then the saving in money is stated, and what a shortfall would cost."""
    world = ValueWorld("efficiency", nodes=machines(4, 4))
    assert world.play(WARM - 4).status is ProposalStatus.NOOP
    proposal = world.play(4)

    assert target(proposal, "sleep").startswith("empty-")
    assert proposal.effect is not None
    assert proposal.effect.terms["energy"] > 0.0 > proposal.effect.terms["waiting"]
    assert proposal.effect.terms["energy"] == pytest.approx(68.0 / 1000 * 0.5 * 0.1, abs=1e-6)


def test_the_reserve_and_the_last_empty_machines_stay_awake() -> None:
    """Two empty machines stay whatever happens; half of the machines, too; and what demand rose by before."""
    assert ValueWorld("efficiency", nodes=machines(4, 2)).play(WARM).status is ProposalStatus.NOOP
    assert (
        ValueWorld("efficiency", nodes=machines(1, 5, 6)).play(WARM).status is ProposalStatus.NOOP
    )

    world = ValueWorld("efficiency", nodes=machines(2, 4))
    world.play(20)
    for name in ("busy-0", "busy-1"):
        world.nodes[name] = {**BUSY, "cpu_requested_ratio": 1.0, "memory_requested_ratio": 1.0}
    for name in ("empty-0", "empty-1"):
        world.nodes[name] = dict(BUSY)
    world.play(5)
    for name in ("empty-0", "empty-1"):
        world.nodes[name] = dict(EMPTY)
    calm = world.play(WARM)
    assert calm.status is ProposalStatus.NOOP
    assert "kept" in calm.text


def test_a_machine_with_pods_or_not_ready_never_sleeps() -> None:
    """Only what is empty, ready, schedulable and on is switched."""
    nodes = machines(6, 3)
    nodes["empty-0"]["ready"] = False
    nodes["empty-1"]["schedulable"] = False

    assert ValueWorld("efficiency", nodes=nodes).play(WARM).status is ProposalStatus.NOOP


def test_a_machine_wakes_for_pods_that_wait_for_capacity() -> None:
    """At once, without any warm-up; pods that wait for something else wake nobody."""
    waiting = {"pending_by_class": {"insufficient_cpu": 12, "unschedulable_selector": 3}}
    world = ValueWorld("efficiency", nodes=machines(4, 0, 3), totals=waiting)
    proposal = world.play(1)

    assert target(proposal, "on") == "sleeping-0"
    assert [wish.action.target.name for wish in proposal.further] == ["sleeping-1"]
    assert proposal.effect is not None
    assert proposal.effect.terms["waiting"] > 0.0 > proposal.effect.terms["energy"]
    others = {"pending_by_class": {"unschedulable_selector": 3}}
    idle = ValueWorld("efficiency", nodes=machines(4, 2, 3), totals=others)
    assert idle.play(1).status is ProposalStatus.NOOP


def test_a_machine_wakes_before_the_reserve_is_used_up() -> None:
    """Full machines and nobody waiting yet: what is free is less than what has to stay free."""
    nodes = machines(4, 0, 2)
    for name in nodes:
        if name.startswith("busy"):
            nodes[name] |= {"cpu_requested_ratio": 0.97, "memory_requested_ratio": 0.97}

    assert target(ValueWorld("efficiency", nodes=nodes).play(1), "on") == "sleeping-0"


def test_a_machine_that_woke_rests_before_it_sleeps_again() -> None:
    """A quarter of an hour, as long as the guard rail against ping-pong remembers."""
    world = ValueWorld("efficiency", nodes=machines(4, 4, 1))
    world.play(WARM)
    roomy = {**BUSY, "cpu_requested_ratio": 0.1, "memory_requested_ratio": 0.1}
    world.nodes = machines(4, 0) | {"sleeping-0": dict(EMPTY), "roomy-0": roomy, "roomy-1": roomy}
    assert world.play(58).status is ProposalStatus.NOOP
    assert target(world.play(4), "sleep") == "sleeping-0"


def test_a_machine_that_was_not_ready_rests_before_it_sleeps() -> None:
    """One that has just started, or came back, is neither known to be idle nor to stay."""
    world = ValueWorld("efficiency", nodes=machines(4, 4))
    for name in world.nodes:
        world.nodes[name] = {**world.nodes[name], "ready": not name.startswith("empty-")}
    world.play(WARM)
    world.nodes = machines(4, 4)
    assert world.play(58).status is ProposalStatus.NOOP
    assert target(world.play(4), "sleep").startswith("empty-")


def test_energy_that_costs_nothing_is_not_saved() -> None:
    """Where machines' prices hold their energy, doing nothing is best."""
    world = ValueWorld("efficiency", nodes=machines(4, 4), totals={"energy_price": 0.0})
    proposal = world.play(WARM)

    assert proposal.status is ProposalStatus.NOOP
    assert "the best of 1 actions would bring -" in proposal.text


def test_rises_are_those_within_the_time() -> None:
    """By how much demand rose at most after each sample, looking no further than asked."""
    samples = tuple(
        DemandSample(time_seconds=10.0 * step, cores=cores, memory_gib=1.0)
        for step, cores in enumerate((1.0, 4.0, 2.0, 9.0))
    )

    assert [cores for cores, _ in rises_within(samples, 10.0)] == [3.0, 0.0, 7.0, 0.0]
    assert [cores for cores, _ in rises_within(samples, 30.0)] == [8.0, 5.0, 7.0, 0.0]


def test_admission_holds_nothing_and_lets_go_of_what_is_held() -> None:
    """However long the queue is; held pods are given free, with what that is worth."""
    world = ValueWorld("admission", totals={"queue_length": 300})
    assert world.play(5).status is ProposalStatus.NOOP
    assert "holding them would cost 0.04" in world.play(1).text

    world.held_pods = 8
    proposal = world.play(2)
    assert isinstance(proposal.action, AdmissionAction)
    assert proposal.action.admission == "admit"
    assert proposal.effect is not None
    assert proposal.effect.net == pytest.approx(8 * 600 / 3600 * 0.02, abs=1e-6)


def test_an_expectation_is_corrected_by_what_was_measured_of_its_kind() -> None:
    """Everything that is stated is multiplied; 0 switches the kind off, and other kinds stay as they are."""
    raw = ValueWorld("efficiency", nodes=machines(4, 4)).play(WARM).effect
    factors = {"power_state:sleep": 0.5, "power_state:wake": 0.0}
    half = ValueWorld("efficiency", nodes=machines(4, 4), value={"calibration": factors})
    corrected = half.play(WARM).effect
    off = ValueWorld(
        "efficiency", nodes=machines(4, 4), value={"calibration": {"power_state:sleep": 0.0}}
    )

    assert raw is not None
    assert corrected is not None
    for name in ("net", "low", "high", "per_hour"):
        assert getattr(corrected, name) == pytest.approx(0.5 * getattr(raw, name), abs=1e-6)
    assert corrected.terms["energy"] == pytest.approx(0.5 * raw.terms["energy"], abs=1e-6)
    assert off.play(WARM).status is ProposalStatus.NOOP
    with pytest.raises(ValueError, match="calibration: sleeping is no kind; use replicate:more"):
        ValueSettings(calibration={"sleeping": 1.0})
