"""Agent A by expected value: replicas for Services that miss their objective, and back to their owner's number."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ReplicateAction, TargetKind
from schemas.proposal import Proposal, ProposalStatus
from tests.agents.value_world import ScriptedService, ValueWorld

BIG = {"node-0": {"cpu_allocatable_cores": 500.0, "memory_allocatable_bytes": 2**39}}
"""Room for whatever is asked for."""


def replicas(proposal: Proposal) -> int:
    """Return how many replicas a proposal asks for."""
    assert isinstance(proposal.action, ReplicateAction)
    assert proposal.action.target.kind is TargetKind.WORKLOAD
    assert proposal.action.replicas is not None
    return proposal.action.replicas


def test_a_service_within_its_objective_is_left_alone() -> None:
    """Doing nothing gains nothing and wins; the sentence says what was looked at."""
    proposal = ValueWorld("safety", {"web": ScriptedService(rate=30.0)}).play(20)

    assert proposal.status is ProposalStatus.NOOP
    assert proposal.effect is None
    assert proposal.text.startswith("0 of 1 Services violate their objective")


def test_a_violated_objective_asks_for_replicas_and_says_what_they_are_worth() -> None:
    """Money gained by fewer bad minutes, money lost for the capacity, and the interval between."""
    proposal = ValueWorld("safety", {"web": ScriptedService(rate=50.0)}).play(3)

    assert replicas(proposal) == 6
    assert proposal.action.target.name == "shop/Deployment/web"
    effect = proposal.effect
    assert effect is not None
    assert effect.terms["slo_services"] > 0.0 > effect.terms["capacity"]
    assert effect.low < effect.net < effect.high
    assert proposal.score == effect.per_hour > 0.0
    assert proposal.rule == "bad requests > 0.01"


def test_replicas_follow_what_one_of_them_has_borne() -> None:
    """Once a replica was seen to bear 9 requests/s, a jump to 70 needs 8 or more of them, not one more."""
    world = ValueWorld("safety", {"web": ScriptedService(rate=36.0)}, value={"headroom_ratio": 0.0})
    world.play(20)
    world.services["web"].rate = 70.0

    assert replicas(world.play(3)) == 8


def test_nothing_is_asked_for_while_replicas_start_or_settle() -> None:
    """What was done has to show before more is done."""
    starting = ValueWorld("safety", {"web": ScriptedService(rate=50.0, ready=3)})
    assert not _proposed(starting, 10)

    settling = ValueWorld("safety", {"web": ScriptedService(rate=90.0)}, obeys=True)
    assert replicas(settling.play(3)) == 8
    assert not _proposed(settling, 7)
    assert replicas(_proposed(settling, 5)[0]) > 8


def test_one_workload_is_changed_three_times_in_ten_minutes_at_most() -> None:
    """More the executor would refuse; what does not help is not repeated without end."""
    world = ValueWorld(
        "safety",
        {"web": ScriptedService(rate=50.0, bears=1.5)},
        nodes={"node-0": {"cpu_allocatable_cores": 500.0, "memory_allocatable_bytes": 2**39}},
        obeys=True,
        value={
            "most_surge": 100.0,
            "surge_pods": "10000%",
            "most_growth": 1.2,
            "settle_seconds": 30.0,
        },
    )

    assert len(_proposed(world, 40)) == 3


@pytest.mark.parametrize(
    ("free_cores", "waiting", "value", "expected"),
    [
        (40.0, 0, {}, 8),
        (2.0, 0, {"spare_ratio": 0.0}, 6),
        (2.0, 1, {"spare_ratio": 0.0}, 5),
        (4.0, 0, {"spare_ratio": 0.02}, 6),
        (2.0, 2, {"spare_ratio": 0.0}, None),
    ],
)
def test_only_replicas_that_have_a_place_are_asked_for(
    free_cores: float, waiting: int, value: dict[str, float], expected: int | None
) -> None:
    """Free cores count by machine, less pods that wait already, less what is spared for other work."""
    node = {
        "cpu_allocatable_cores": 100.0,
        "memory_allocatable_bytes": 2**38,
        "cpu_requested_ratio": 1.0 - free_cores / 100.0,
    }
    world = ValueWorld(
        "safety",
        {"web": ScriptedService(rate=200.0)},
        nodes={"node-0": node},
        totals={"pending_by_class": {"insufficient_cpu": waiting}},
        value=value,
    )
    proposal = world.play(3)

    assert (None if proposal.effect is None else replicas(proposal)) == expected


@pytest.mark.parametrize(
    ("rented", "pending_class", "waited", "expected"),
    [
        (False, "insufficient_cpu", 20.0, None),
        (True, "insufficient_cpu", 20.0, 8),
        (True, "insufficient_cpu", 300.0, 8),
        (True, "insufficient_cpu", 301.0, None),
        (True, "unschedulable_other", 301.0, 8),
    ],
)
def test_where_machines_are_rented_replicas_need_no_place(
    rented: bool, pending_class: str, waited: float, expected: int | None
) -> None:
    """A full cluster is no limit until a pod has waited for capacity longer than a machine takes to come."""
    node = {
        "cpu_allocatable_cores": 100.0,
        "memory_allocatable_bytes": 2**38,
        "cpu_requested_ratio": 1.0,
    }
    pod = {"phase": "Pending", "pending_class": pending_class, "waiting_seconds": waited}
    world = ValueWorld(
        "safety",
        {"web": ScriptedService(rate=200.0)},
        nodes={"node-0": node},
        pods={"shop/report": pod},
        value={"machines_rented": rented},
    )
    proposal = world.play(3)

    assert (None if proposal.effect is None else replicas(proposal)) == expected


def test_all_surges_together_are_bounded() -> None:
    """Of few running pods at least ten may be added, however much is missing."""
    world = ValueWorld(
        "safety",
        {"web": ScriptedService(rate=600.0, wanted=40)},
        nodes=BIG,
    )

    assert replicas(world.play(3)) == 50


@pytest.mark.parametrize(
    ("value", "rule", "at_most"),
    [
        ({}, "bad requests > 0.01", 45.0),
        ({"forecast_seconds": 180.0}, "foreseen rate of a replica >= 12.5", 39.0),
    ],
)
def test_a_rate_that_was_too_much_before_is_answered_before_it_comes(
    value: dict[str, float], rule: str, at_most: float
) -> None:
    """Four replicas bear 40 requests/s: a trend that leads to what broke them asks for more while all is well; by
    default none is followed, and nothing is asked for until requests are bad.
    """
    web = ScriptedService(rate=50.0)
    world = ValueWorld("safety", {"web": web}, value=value)
    world.play(15)
    web.rate = 20.0
    world.play(60)
    asked = None
    while web.rate < at_most and asked is None:
        web.rate += 1.5
        proposal = world.play()
        asked = proposal if proposal.status is ProposalStatus.PROPOSED else None

    assert asked is not None
    assert asked.rule == rule
    assert replicas(asked) > 4


def test_replicas_are_given_back_to_the_owners_number_when_it_is_quiet() -> None:
    """A quarter of an hour within the objective, at a rate that the owner's replicas bear: back to four."""
    world = ValueWorld("safety", {"web": ScriptedService(rate=50.0)}, obeys=True)
    world.play(40)
    assert world.services["web"].wanted > 4
    world.services["web"].rate = 20.0

    asked = [replicas(one) for one in _proposed(world, 140)]
    assert world.services["web"].wanted == 4
    assert min(asked) == 4
    assert world.play(20).status is ProposalStatus.NOOP


def test_replicas_that_the_owner_set_are_not_reduced() -> None:
    """Many idle replicas that somebody else wanted stay as they are."""
    world = ValueWorld("safety", {"web": ScriptedService(rate=1.0, wanted=20)}, obeys=True)

    assert not _proposed(world, 120)


def test_an_owner_who_changes_the_number_owns_it() -> None:
    """After a raise of ours the owner sets 9: that is the number that nothing goes below."""
    world = ValueWorld("safety", {"web": ScriptedService(rate=50.0)}, obeys=True)
    world.play(30)
    world.services["web"].wanted = 9
    world.services["web"].rate = 5.0

    _proposed(world, 160)
    assert world.services["web"].wanted == 9


def test_a_raise_that_a_quota_cut_is_ours_all_the_same() -> None:
    """Asked for 8 and got 6: the owner's number is still 4, and that is what is given back."""
    world = ValueWorld("safety", {"web": ScriptedService(rate=90.0)})
    assert replicas(world.play(3)) == 8
    world.services["web"].wanted = 6
    world.play(1)
    world.services["web"].rate = 5.0

    asked = [replicas(one) for one in _proposed(world, 90)]
    assert asked[-1] == 4


def test_an_autoscalers_bounds_hold() -> None:
    """Its minimum is what is raised, never above its maximum."""
    bounded = ScriptedService(rate=200.0, least=2, most=6)
    world = ValueWorld("safety", {"web": bounded}, obeys=True)

    asked = [replicas(one) for one in _proposed(world, 60)]
    assert asked
    assert max(asked) == 6


def test_replicas_without_which_the_objective_was_violated_are_kept_for_an_hour() -> None:
    """Four were too few for a rate that goes on, however much more eight of them served in time in a rush."""
    web = ScriptedService(rate=50.0, bears=100.0, slow_ratio=0.015)
    world = ValueWorld("safety", {"web": web}, obeys=True)
    world.play(5)
    assert web.wanted > 4
    web.slow_ratio = 0.0
    world.play(20)
    web.rate, web.slow_ratio = 1_000.0, 0.05
    world.play(12)
    web.rate, web.slow_ratio = 50.0, 0.0
    world.play(2)

    for_long = _proposed(world, 200)
    assert web.wanted == 5
    assert replicas(for_long[-1]) == 5
    world.play(40)
    assert web.wanted == 4


def test_what_is_tried_in_vain_is_given_up_for_a_while() -> None:
    """Six cycles without a sign of it in the cluster, then ten minutes of silence, then again."""
    world = ValueWorld("safety", {"web": ScriptedService(rate=50.0)})
    tried = [world.play().status for _ in range(60)]

    assert tried.count(ProposalStatus.PROPOSED) == 12
    assert tried[2:8] == [ProposalStatus.PROPOSED] * 6
    assert set(tried[8:40]) == {ProposalStatus.NOOP}
    assert "tried in vain" in world.play(1).text or tried[-1] is ProposalStatus.PROPOSED


def test_the_worst_is_first_and_the_others_are_further_wishes() -> None:
    """Every Service that would gain is named, best first, at most twelve in one proposal."""
    services = {f"web-{number:02}": ScriptedService(rate=50.0) for number in range(14)}
    services["big"] = ScriptedService(rate=300.0, wanted=24)
    proposal = ValueWorld("safety", services, nodes=BIG, totals={"pods_running": 400}).play(3)

    gains = [proposal.score, *(wish.score for wish in proposal.further)]
    assert len(gains) == 12
    assert gains == sorted(gains, reverse=True)
    assert all(wish.effect.net > 0.0 for wish in proposal.further)


def test_raises_of_one_cycle_fit_together() -> None:
    """Ten pods may be added in all: those that end most violations by a pod come first, and none is refused."""
    services = {f"web-{number}": ScriptedService(rate=50.0) for number in range(6)}
    services["big"] = ScriptedService(rate=300.0, wanted=24)
    proposal = ValueWorld("safety", services, nodes=BIG).play(3)
    actions = [proposal.action, *(wish.action for wish in proposal.further)]
    added = {
        action.target.name: (action.replicas or 0)
        - services[action.target.name.split("/")[-1]].wanted
        for action in actions
        if isinstance(action, ReplicateAction)
    }

    assert 0 < sum(added.values()) <= 10
    assert "shop/Deployment/big" not in added


def test_a_part_of_what_is_needed_is_worth_a_part() -> None:
    """Where only ten more pods may come, a Service that needs hundreds gets none of them."""
    world = ValueWorld("safety", {"web": ScriptedService(rate=2_000.0, wanted=40)}, nodes=BIG)

    assert world.play(3).status is ProposalStatus.NOOP


def test_raises_that_do_not_help_are_worth_less() -> None:
    """The share of raises that ended a violation is learned from what was seen."""
    room: dict[str, Any] = {"nodes": BIG, "totals": {"pods_running": 500}, "obeys": True}
    helped = ValueWorld("safety", {"web": ScriptedService(rate=50.0)}, **room)
    in_vain = ValueWorld("safety", {"web": ScriptedService(rate=50.0, bears=0.1)}, **room)
    for world in (helped, in_vain):
        world.play(60)
    assert helped.state.memory is not None
    assert in_vain.state.memory is not None

    assert helped.state.memory.cures == helped.state.memory.raises > 0
    assert in_vain.state.memory.cures == 0 < in_vain.state.memory.raises
    for world in (helped, in_vain):
        world.services["new"] = ScriptedService(rate=50.0)
    wishes = [[world.play(1) for _ in range(3)] for world in (helped, in_vain)]
    good, bad = (next(one.effect for one in each if one.effect is not None) for each in wishes)
    assert bad.terms["slo_services"] < good.terms["slo_services"]


def _proposed(world: ValueWorld, cycles: int) -> list[Proposal]:
    played = (world.play() for _ in range(cycles))
    return [proposal for proposal in played if proposal.status is ProposalStatus.PROPOSED]
