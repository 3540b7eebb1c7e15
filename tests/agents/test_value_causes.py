"""Agent A by expected value: what is bad for another reason than too few replicas."""

from __future__ import annotations

from schemas.actions import ReplicateAction
from schemas.proposal import Proposal, ProposalStatus
from tests.agents.value_world import ScriptedService, ValueWorld


def asked(world: ValueWorld, cycles: int) -> list[int]:
    """Return the replicas that are asked for in so many cycles."""
    played = [world.play() for _ in range(cycles)]
    return [_replicas(one) for one in played if one.status is ProposalStatus.PROPOSED]


def _replicas(proposal: Proposal) -> int:
    assert isinstance(proposal.action, ReplicateAction)
    assert proposal.action.replicas is not None
    return proposal.action.replicas


def test_requests_lost_with_a_machine_are_not_answered() -> None:
    """They violate the objective, and no rate is learned from them that replicas would not bear."""
    service = ScriptedService(rate=30.0, lost_ratio=0.25)
    world = ValueWorld("safety", {"web": service})
    assert asked(world, 20) == []
    memory = world.state.memory
    assert memory is not None
    assert memory.services["shop/web"].bad_ratio == 0.25
    assert memory.services["shop/web"].broken_rate == 0.0
    service.lost_ratio, service.rate = 0.0, 50.0
    assert asked(world, 2) != []


def test_requests_that_met_no_ready_pod_are_not_answered() -> None:
    """They violate the objective; what those pods that are ready get in time says that there are enough of them."""
    service = ScriptedService(rate=30.0, refused_ratio=0.6)
    world = ValueWorld("safety", {"web": service})
    assert asked(world, 20) == []
    memory = world.state.memory
    assert memory is not None
    assert memory.services["shop/web"].bad_ratio == 0.6
    service.rate = 120.0
    assert asked(world, 2) != []


def test_pods_that_became_ready_are_not_judged_by_what_came_before() -> None:
    """While one of four was ready it had too much to do; the four together have not, so nothing is added or learned."""
    service = ScriptedService(rate=30.0, ready=1)
    world = ValueWorld("safety", {"web": service})
    assert asked(world, 5) == []
    service.ready = None
    assert asked(world, 10) == []
    memory = world.state.memory
    assert memory is not None
    assert memory.services["shop/web"].broken_rate == 0.0
    service.rate = 50.0
    assert asked(world, 1) != []


def test_a_violation_that_ends_before_new_replicas_are_ready_is_not_answered() -> None:
    """After a start what had waited is served late, less and less: a third by each step from 8 % on; one that stays is
    answered."""
    falling = [0.08, 0.05, 0.03, 0.019, 0.012, 0.007]
    service = ScriptedService(rate=30.0)
    world = ValueWorld("safety", {"web": service})
    asked(world, 4)
    found = []
    for share in falling:
        service.slow_ratio = share
        found.append(asked(world, 1))
    assert found[1:] == [[]] * 5
    service.slow_ratio = 0.04
    assert asked(world, 3) != []


def test_a_raise_that_helps_too_little_to_end_it_is_not_repeated_and_is_given_back() -> None:
    """Two of a hundred are slow whatever is added: the line through before and after never meets the objective."""
    service = ScriptedService(rate=42.0, slow_ratio=0.02)
    world = ValueWorld("safety", {"web": service}, obeys=True, totals={"pods_running": 100})
    assert asked(world, 58) == [6, 8]
    assert asked(world, 40) == [4]
    assert asked(world, 60) == []
    service.rate = 60.0
    assert asked(world, 4) != []


def test_a_service_whose_requests_end_after_a_raise_is_left_alone() -> None:
    """Nothing can be said of a rate of none, and nothing is done."""
    service = ScriptedService(rate=50.0)
    world = ValueWorld("safety", {"web": service}, obeys=True)
    assert asked(world, 4) != []
    service.rate = 0.0
    assert asked(world, 30) == []


def test_a_raise_in_vain_is_not_repeated_and_is_given_back() -> None:
    """Each replica gets less and all is as late as before: nothing is added, and a quarter of an hour later it goes."""
    service = ScriptedService(rate=4.0)
    world = ValueWorld("safety", {"web": service}, obeys=True)
    assert asked(world, 5) == []
    service.bears = 0.0
    assert asked(world, 60) == [5]
    assert asked(world, 20) == [4]
    assert asked(world, 40) == []


def test_a_raise_in_vain_is_tried_again_when_there_is_more_to_do() -> None:
    """A rate of each replica that was not there when replicas did not help may be one that they help with."""
    service = ScriptedService(rate=4.0)
    world = ValueWorld("safety", {"web": service}, obeys=True)
    world.play(5)
    service.bears = 0.0
    assert asked(world, 30) == [5]
    service.rate = 8.0
    assert asked(world, 4) != []


def test_a_raise_that_helps_a_little_is_followed_by_the_next() -> None:
    """Where far too few replicas were there, more requests in time are help enough to go on."""
    service = ScriptedService(rate=400.0, wanted=8)
    world = ValueWorld(
        "safety", {"web": service}, obeys=True,
        nodes={"node-0": {"cpu_allocatable_cores": 500.0, "memory_allocatable_bytes": 2**39}},
        value={"most_growth": 1.2, "most_surge": 10.0, "surge_pods": "1000%"},
    )  # fmt: skip
    assert len(asked(world, 25)) >= 2
