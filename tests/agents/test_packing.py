"""Agent B packs: a machine with few pods is emptied and put to sleep when that is worth its cost, and given back."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import MigrateAction, PowerStateAction
from schemas.occupancy import Occupancy, Occupant, OccupiedNode
from schemas.proposal import Proposal, ProposalStatus
from schemas.view import update_view
from services.agents.machine_memory import MachineMemory, remember_machines, sleep_seconds
from services.agents.value_settings import ValueSettings
from tests.agents.value_world import ScriptedService, ValueWorld
from tests.builders import GIB, START_SECONDS, make_observation, stamp_event

WARM = 62
"""Steps after which demand is known, and pods that ran from the beginning have rested."""
LIGHT: dict[str, Any] = {"pods": 1, "cpu_requested_ratio": 0.1, "memory_requested_ratio": 0.1}


def occupant(name: str, workload: str = "Deployment", **fields: Any) -> Occupant:
    """Return a pod of a core that has run since the beginning."""
    default: dict[str, Any] = {
        "pod": f"shop/{name}",
        "workload": f"shop/{workload}/{name}",
        "cpu_request_cores": 1.0,
        "memory_request_bytes": GIB,
        "started_time_seconds": START_SECONDS,
        "ready_replicas": 1,
    }
    return Occupant(**{**default, **fields})


def occupancy(*pods: Occupant, **fields: Any) -> Occupancy:
    """Return machine light-0 with these pods."""
    node = {name: fields.pop(name) for name in ("notices", "kept_by") if name in fields}
    return Occupancy(nodes=(OccupiedNode(node="light-0", pods=pods, **node),), **fields)


def world(*pods: Occupant, **fields: Any) -> ValueWorld:
    """Return ten lightly loaded machines, of which light-0 holds these pods."""
    value = fields.pop("value", {})
    nodes = {f"light-{number}": dict(LIGHT) for number in range(10)}
    return ValueWorld("efficiency", nodes=nodes, occupancy=occupancy(*pods, **fields), value=value)


def first_wish(played: ValueWorld) -> Proposal:
    """Play until something is proposed; the last proposal where nothing is."""
    for _ in range(WARM):
        proposal = played.play()
        if proposal.status is ProposalStatus.PROPOSED:
            break
    return proposal


def test_a_machine_with_one_pod_is_emptied_and_then_sleeps() -> None:
    """The saved watts against one eviction and its restart; once it is empty, it is put to sleep."""
    played = world(occupant("web"))
    proposal = first_wish(played)

    assert isinstance(proposal.action, MigrateAction)
    assert proposal.action.target.name == "light-0"
    assert proposal.effect is not None
    terms = proposal.effect.terms
    assert terms["energy"] == pytest.approx(68.0 / 1000 * 0.5 * 0.1, abs=1e-6)
    assert terms["evictions"] == -0.002
    assert proposal.effect.low < proposal.effect.net < proposal.effect.high

    played.nodes["light-0"] = {"pods": 0, "cpu_requested_ratio": 0.0, "memory_requested_ratio": 0.0}
    played.occupancy = Occupancy(nodes=())
    proposal = played.play()
    assert isinstance(proposal.action, PowerStateAction)
    assert (proposal.action.power_state, proposal.action.target.name) == ("sleep", "light-0")


@pytest.mark.parametrize(
    ("pods", "fields", "why"),
    [
        ((occupant("db", kept_by="a bare pod would be lost"),), {}, "a bare pod would be lost"),
        ((occupant("web"),), {"kept_by": "do-not-disrupt=true"}, "do-not-disrupt=true"),
        ((occupant("web", cpu_request_cores=99.0),), {}, "no place is left for a pod of 99 cores"),
        ((occupant("gpu", gpus_requested=1),), {}, "no place is left for a pod of 1 cores"),
        ((occupant("web", places=("away",)),), {}, "no place is left for a pod of 1 cores"),
        ((occupant("web"),), {"closed": tuple(f"light-{n}" for n in range(1, 10))}, "no place"),
        ((occupant("web", started_time_seconds=None),), {}, "not ready yet"),
        (
            (occupant("web", started_time_seconds=START_SECONDS + 600.0),),
            {},
            "has run for less than 900 s",
        ),
        ((occupant("a"), occupant("b"), occupant("c")), {}, "more than 2 pods"),
        ((occupant("a"), occupant("b")), {}, "costs more than is saved"),
        ((occupant("sum", "Job"),), {}, "costs more than is saved"),
    ],
)
def test_a_machine_stays_as_it_is_for_a_reason(
    pods: tuple[Occupant, ...], fields: dict[str, Any], why: str
) -> None:
    """Nothing is proposed that would be refused, has no place elsewhere, or costs more than it saves; it says so."""
    proposal = world(*pods, **fields).play(WARM)

    assert proposal.status is ProposalStatus.NOOP
    assert why in proposal.text


def test_a_pod_that_asks_for_certain_machines_moves_to_one_of_them() -> None:
    """One that is open and has room is enough."""
    proposal = first_wish(world(occupant("web", places=("light-3",))))
    assert isinstance(proposal.action, MigrateAction)


def test_a_job_that_keeps_its_work_is_moved() -> None:
    """What it does again is what it has done since its last checkpoint."""
    proposal = first_wish(world(occupant("sum", "Job", checkpoint_seconds=10.0)))

    assert isinstance(proposal.action, MigrateAction)
    assert proposal.effect is not None
    assert proposal.effect.terms["job_cpu_lost"] == pytest.approx(-0.031611 / 360, abs=1e-6)


def test_a_service_keeps_its_only_replica() -> None:
    """The only ready replica is not moved, nor one of a Service that violates its objective; another one is."""

    def played(**service: Any) -> Proposal:
        one = world(occupant("web"))
        one.services = {"web": ScriptedService(**service)}
        return first_wish(one)

    assert "has no other replica" in played(rate=1.0, wanted=1).text
    assert "violates its objective" in played(rate=999.0, wanted=3).text
    assert isinstance(played(rate=1.0, wanted=3).action, MigrateAction)


@pytest.mark.parametrize("seed", range(3))
def test_a_machine_that_is_left_untouched_keeps_no_other_from_being_emptied(seed: int) -> None:
    """Every second machine is left by the draw: another one is emptied, and no other with it."""
    played = world(value={"untouched_ratio": 0.5, "untouched_seed": seed})
    nodes = [OccupiedNode(node=f"light-{n}", pods=(occupant(f"web-{n}"),)) for n in range(10)]
    played.occupancy = Occupancy(nodes=tuple(nodes))
    played.play(59)
    emptied = set()
    for _ in range(6):
        proposal = played.play()
        if isinstance(proposal.action, MigrateAction):
            assert not proposal.further
            emptied.add(proposal.action.target.name)
            left = () if proposal.untouched is None else proposal.untouched.left
            assert proposal.action.target not in [one.action.target for one in left]
    assert len(emptied) == 1


def test_nothing_is_packed_while_pods_wait_or_the_reserve_is_short() -> None:
    """Pods that wait for capacity come first, and one and a half reserves stay free."""
    busy = world(occupant("web"), value={"reserve_ratio": 1.0})
    for name in busy.nodes:
        busy.nodes[name] |= {"cpu_requested_ratio": 0.39}
    assert "the reserve would not be free" in busy.play(WARM).text

    waiting = world(occupant("web"))
    waiting.totals = {"pending_by_class": {"insufficient_cpu": 3}}
    assert waiting.play(WARM).status is ProposalStatus.NOOP


def test_a_node_that_kept_our_taint_is_given_back() -> None:
    """Ten minutes after it was seen, unless the machine is still about to go."""
    played = world(occupant("db", kept_by="no"), marked=("light-3",))
    assert played.play(30).status is ProposalStatus.NOOP
    proposal = first_wish(played)
    assert isinstance(proposal.action, PowerStateAction)
    assert (proposal.action.power_state, proposal.action.target.name) == ("on", "light-3")

    going = world(occupant("db"), marked=("light-0",), notices=("KernelDeadlock",))
    assert first_wish(going).status is ProposalStatus.NOOP


def test_how_long_machines_sleep_is_learned() -> None:
    """A guess of one machine, then what was slept by how many woke; never beyond four times the guess."""
    settings = ValueSettings()
    asleep = {"power_state": "sleep"}

    def after(memory: MachineMemory, **nodes: dict[str, Any]) -> MachineMemory:
        view = update_view(None, stamp_event(make_observation(nodes)))
        assert view is not None
        return remember_machines(memory, view, 600.0)

    memory = after(MachineMemory(), a=asleep, b=asleep)
    assert sleep_seconds(memory, settings) == 1_800.0
    memory = after(memory, a=asleep, b=asleep)
    assert sleep_seconds(memory, settings) == 1_800.0 + 2 * 600.0
    memory = after(memory, a={}, b=asleep)
    assert sleep_seconds(memory, settings) == (1_800.0 + 4 * 600.0) / 2
    long = memory.model_copy(update={"asleep_seconds": 1e6})
    assert sleep_seconds(long, settings) == 4 * 1_800.0
