"""One executor alone acts on a cluster: who gets the Lease, who loses it, and that the loser writes nothing more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bus.clock import LoopClock
from bus.errors import AnotherWriter
from bus.memory_adapter import MemoryLog
from bus.virtual_loop import run_virtual
from schemas.leadership import LeadState, OutcomeLeadership
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution
from schemas.reasons import Reason
from services.executor.fencing import lead_by_log
from services.executor.leading import Leadership, LeadershipLost
from services.executor.lease import Lead
from services.executor.lease_reading import held_by_another
from services.executor.settings import ExecutorSettings
from tests.executor.lease_world import (
    FIRST,
    LEASE_SECONDS,
    NAMESPACE,
    SECOND,
    STRANGER,
    Door,
    World,
    ended,
)


def in_virtual_time(scene: Any) -> None:
    """Play a scene on a clock that jumps."""
    run_virtual(scene)


def test_one_leads_and_its_replica_waits_until_it_lets_go() -> None:
    """The second says nothing at all while the first leads, and takes over at once when that one ends in order."""

    async def scene() -> None:
        world = World()
        first = world.executor(FIRST, world.door())
        await asyncio.sleep(1.0)
        second = world.executor(SECOND, world.door())
        async with ended(second):
            async with ended(first):
                await asyncio.sleep(60.0)
                record = world.lease()
                assert (record.holder, record.transitions) == (FIRST.identity, 0)
                assert {one.executor for one in world.said(OutcomeLeadership)} == {FIRST.identity}
            await asyncio.sleep(6.0)
            record = world.lease()
            assert (record.holder, record.transitions) == (SECOND.identity, 1)
            assert world.said(OutcomeLeadership)[-1].executor == SECOND.identity
            assert not second.done()

    in_virtual_time(scene)


@pytest.mark.parametrize("first_one", [True, False])
def test_an_end_in_the_middle_of_a_renewal_lets_go_all_the_same(first_one: bool) -> None:
    """The server took the write and the answer never came: what is ours is looked up once more, and released."""

    async def scene() -> None:
        world = World()
        door = world.door()
        if first_one:
            door.after_renewal = asyncio.Event().wait
        first = world.executor(FIRST, door)
        async with ended(first):
            await asyncio.sleep(1.0)
            door.after_renewal = None if first_one else asyncio.Event().wait
            await asyncio.sleep(2.5)
            assert world.lease().holder == FIRST.identity
        assert world.lease().holder == ""

    in_virtual_time(scene)


def test_when_the_leader_dies_the_other_completes_its_plan_once() -> None:
    """It waits for the Lease to run out, reads the log, and finishes what the dead one had begun."""

    async def scene() -> None:
        world = World()
        dying, living = world.door(), world.door()
        first = world.executor(FIRST, dying)
        await asyncio.sleep(1.0)
        second = world.executor(SECOND, living)

        async def die() -> None:
            dying.shut = True  # a killed process neither writes nor releases its Lease
            await asyncio.Event().wait()

        async with ended(second):
            await world.decide(1)
            await asyncio.sleep(1.0)
            assert [one.succeeded for one in world.ends()] == [True]
            dying.before_read = die
            await world.decide(2)
            await asyncio.sleep(4.0)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            assert world.lease().holder == FIRST.identity
            await asyncio.sleep(2 * LEASE_SECONDS)
            assert world.lease().holder == SECOND.identity
        ends = {(one.cycle, one.phase): one for one in world.ends()}
        assert len(ends) == len(world.ends())
        assert set(ends) == {(1, ExecutionPhase.FINISHED), (2, ExecutionPhase.REFUSED)}
        assert dying.written != []
        assert living.written == []

    in_virtual_time(scene)


def test_an_outage_suspends_and_nothing_is_lost_by_it() -> None:
    """What is decided meanwhile is refused, with the reason; once the server is back the same executor leads on."""

    async def scene() -> None:
        world = World()
        door = world.door()
        first = world.executor(FIRST, door)
        async with ended(first):
            await asyncio.sleep(1.0)
            door.shut = True
            await asyncio.sleep(LEASE_SECONDS)
            await world.decide(1)
            await asyncio.sleep(1.0)
            (refused,) = world.ends()
            assert refused.reason is Reason.LEASE_LOST
            assert "was not renewed for 10 s: the server is away" in refused.text
            assert [one.state for one in world.said(OutcomeLeadership)][:2] == [
                LeadState.LEADING,
                LeadState.SUSPENDED,
            ]
            assert door.written == []
            door.shut = False
            await asyncio.sleep(LEASE_SECONDS)
            await world.decide(2)
            await asyncio.sleep(1.0)
            assert world.ends()[-1].succeeded
            assert world.lease().transitions == 0
            assert not first.done()

    in_virtual_time(scene)


async def _overtaken(world: World, door: Door, second: list[asyncio.Task[None]]) -> None:
    """Hold an executor up while it reads, until another has taken over."""

    async def stand_still() -> None:
        door.shut = True
        other = world.door()
        other.before_read = asyncio.Event().wait  # it leads, and has not come to the decision yet
        second.append(world.executor(SECOND, other))
        await asyncio.sleep(2 * LEASE_SECONDS)
        door.shut = False

    door.before_read = stand_still
    await world.decide(1)


@pytest.mark.parametrize("clock", ["right", "wrong"])
def test_the_log_refuses_the_plan_of_one_that_was_overtaken(
    clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stood still in the middle of planning. Also where its own clock says that it still leads, the log does not
    store its plan, it writes nothing, and it ends.
    """

    async def scene() -> None:
        world = World()
        door, second = world.door(), list[asyncio.Task[None]]()
        first = world.executor(FIRST, door)
        await asyncio.sleep(1.0)
        if clock == "wrong":
            honest = Leadership.lead

            def lead(self: Leadership) -> Lead | None:
                if self.candidate == FIRST:
                    return Lead(LeadState.LEADING)
                return honest(self)

            monkeypatch.setattr(Leadership, "lead", lead)
            monkeypatch.setattr(Leadership, "_look", _see_nothing(Leadership._look))
        await _overtaken(world, door, second)
        await asyncio.sleep(4 * LEASE_SECONDS)
        async with ended(*second):
            assert first.done()
            assert isinstance(first.exception(), AnotherWriter | LeadershipLost)
            if clock == "wrong":
                assert isinstance(first.exception(), AnotherWriter)
            assert door.written == []
            assert world.lease().holder == SECOND.identity
            leaders = [one.executor for one in world.said(OutcomeLeadership)]
            assert leaders[0] == FIRST.identity
            assert set(leaders[1:]) == {SECOND.identity}
            assert world.said(OutcomeExecution) == []

    in_virtual_time(scene)


def _see_nothing(look: Any) -> Any:
    """Return a look that only the second executor takes: the first does not notice who holds the Lease."""

    async def looked(self: Leadership) -> None:
        if self.candidate != FIRST:
            await look(self)

    return looked


def test_a_lease_that_runs_out_in_the_middle_ends_the_plan() -> None:
    """The plan was stored while it led; the server was slow, and the write is not sent any more."""

    async def scene() -> None:
        world = World()
        door = world.door()

        async def be_slow() -> None:
            begun = [one for one in world.said(OutcomeExecution) if not one.results]
            if begun and not door.forbidden:
                door.forbidden = True
                await asyncio.sleep(LEASE_SECONDS)

        first = world.executor(FIRST, door)
        async with ended(first):
            await asyncio.sleep(1.0)
            door.on_read = be_slow
            await world.decide(1)
            await asyncio.sleep(2 * LEASE_SECONDS)
        ends = world.ends()
        assert [one.reason for one in ends] == [Reason.LEASE_LOST]
        assert [one.reason for one in ends[0].results] == [Reason.LEASE_LOST]
        assert door.written == []

    in_virtual_time(scene)


def test_the_log_is_asked_before_each_write() -> None:
    """Whoever finds another's word there writes nothing, although its own clock says that it leads."""

    async def scene() -> None:
        world = World()
        leadership = world.leadership(FIRST, world.door())
        leadership.want()
        async with leadership.running() as election:
            await leadership.settled(election, lambda: None)

            async def said_by(identity: str) -> LeadState:
                async def newest() -> str:
                    return identity

                return (await lead_by_log(leadership, newest)()).state

            assert await said_by(FIRST.identity) is LeadState.LEADING
            assert await said_by(SECOND.identity) is LeadState.SUSPENDED

    in_virtual_time(scene)


def test_a_second_stack_refuses_to_act_and_says_who_does() -> None:
    """It has a log of its own; each decision there is refused, until the first stack lets go."""

    async def scene() -> None:
        world, log = World(), MemoryLog()
        door = world.door()
        first = world.executor(FIRST, world.door())
        await asyncio.sleep(1.0)
        other = world.executor(STRANGER, door, log)
        async with ended(other):
            async with ended(first):
                await asyncio.sleep(1.0)
                await world.decide(1, log)
                await asyncio.sleep(2.0)
                (refused,) = world.ends(log)
                assert refused.reason is Reason.NOT_LEADER
                assert "'ours/one' holds it since 2026-01-01 00:00:00 UTC" in refused.text
                assert "another stack acts on this cluster" in refused.text
                (said,) = world.said(OutcomeLeadership, log)
                assert (said.state, said.reason) == (LeadState.REFUSED, Reason.NOT_LEADER)
                assert (said.holder, said.held_since_seconds) == (FIRST.identity, 1_767_225_600.0)
                assert door.written == []
            await asyncio.sleep(LEASE_SECONDS)
            await world.decide(2, log)
            await asyncio.sleep(2.0)
            assert world.ends(log)[-1].succeeded
            assert world.said(OutcomeLeadership, log)[-2].state is LeadState.LEADING

    in_virtual_time(scene)


def test_without_the_right_nothing_is_begun() -> None:
    """The event says which Lease may not be had, and what prints the rights."""

    async def scene() -> None:
        world = World()
        door = world.door()
        door.forbidden = True
        first = world.executor(FIRST, door)
        async with ended(first):
            await asyncio.sleep(1.0)
            await world.decide(1)
            await asyncio.sleep(2.0)
        (refused,) = world.ends()
        assert refused.reason is Reason.NOT_LEADER
        assert "kube-system/foresail-executor may not be had: 403 Forbidden" in refused.text
        assert "foresail rbac" in refused.text
        assert door.written == []

    in_virtual_time(scene)


@pytest.mark.parametrize("options", [{"mode": Mode.SHADOW}, {"lease": None}])
def test_dry_runs_and_the_embedded_cluster_need_no_lease(options: dict[str, Any]) -> None:
    """Neither asks for it, and the log holds nothing of it."""

    async def scene() -> None:
        world = World()
        first = world.executor(FIRST, world.door(), **options)
        async with ended(first):
            await asyncio.sleep(1.0)
            await world.decide(1)
            await asyncio.sleep(2.0)
        assert world.ends()[-1].succeeded
        assert world.lease() is None
        assert world.said(OutcomeLeadership) == []

    in_virtual_time(scene)


def test_what_is_said_before_a_start() -> None:
    """Held and renewed lately: who, since when, how long ago; run out, released or never there: nobody."""

    async def scene() -> None:
        world = World()
        door = world.door()
        assert await held_by_another(door, NAMESPACE) is None
        leadership = world.leadership(FIRST, door)
        leadership.want()
        start = world.plant.twin.now
        world.clock = LoopClock(round(start * 1e9))
        leadership._clock = world.clock
        async with leadership.running() as election:
            await leadership.settled(election, lambda: None)
            held = await held_by_another(door, NAMESPACE)
            assert held is not None
            assert "'ours/one' holds it since" in held
            assert "renewed 0 s ago" in held
        assert await held_by_another(door, NAMESPACE) is None

    in_virtual_time(scene)


def test_a_real_clusters_settings_ask_for_it() -> None:
    """By default where namespaces are named; and what changes no result is not announced."""
    assert ExecutorSettings(namespaces=("shop",)).needs_lease
    assert not ExecutorSettings().needs_lease
    assert not ExecutorSettings(namespaces=("shop",), lease=False).needs_lease
    assert not {"lease", "lease_seconds", "lease_namespace"} & set(
        ExecutorSettings().announcement()
    )
