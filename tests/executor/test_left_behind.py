"""What a stack that was killed left on the cluster: the next one finds it by its marks, and gives it back, takes it
over or leaves it.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bus.events import event_of
from bus.follow import Publisher
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.virtual_loop import run_virtual
from projections.event_text import event_text
from projections.standing import Standing
from schemas.control import EVERYTHING, Command
from schemas.envelope import NewEvent
from schemas.left_behind import FIRST_PART, OutcomeLeftBehind
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution
from services.executor.left_behind_reading import MOST_FOUND
from tests.builders import ORIGIN, make_control
from tests.executor.lease_world import FIRST, STRANGER, ended
from tests.executor.left_town import (
    AUTOSCALER,
    DEPLOYMENTS,
    MERGE,
    QUOTA,
    SHOP,
    SLEPT,
    STRATEGIC,
    Town,
    leave_everything,
)


def paths_before(town: Town) -> dict[str, dict[str, Any]]:
    """Return how everything is that will be marked."""
    job = "/apis/batch/v1/namespaces/shop/jobs/job"
    named = [f"{DEPLOYMENTS}/web", f"{DEPLOYMENTS}/held", job, AUTOSCALER, town.pod, *town.nodes]
    return {path: town.state_of(path) for path in named}


def play(scene: Any) -> None:
    """Play a scene on a clock that jumps."""
    run_virtual(scene)


def said(log: MemoryLog) -> list[OutcomeLeftBehind]:
    """Return what was told of what was left."""
    events = (event_of(message).data for message in log.messages)
    return [data for data in events if isinstance(data, OutcomeLeftBehind)]


def standing(log: MemoryLog) -> list[str]:
    """Return what stands by a log."""
    state = Standing()
    for message in log.messages:
        state = state.after(event_of(message))
    return [one.name for one in state.actions]


def test_every_mark_is_given_back() -> None:
    """Taints, a cordon, limits, raises, held work, a quota and a resized pod: all are as before, somebody else's
    taint stays, and the log tells it.
    """

    async def scene() -> None:
        town = Town()
        town.furnish()
        before = paths_before(town)
        leave_everything(town)
        theirs = [{"key": "team", "value": "shop", "effect": "PreferNoSchedule"}]
        log = await town.next_stack(1, 2, 3)

        (told,) = said(log)
        assert len(told.found) == 11, [one.text for one in told.found]
        for path, state in before.items():
            now = town.state_of(path)
            if path == town.nodes[0]:
                assert now["spec"].pop("taints") == theirs
            assert now == state, path
        quotas = town.ask("GET", f"{SHOP}/resourcequotas")["items"]
        assert [one["metadata"]["name"] for one in quotas] == []
        assert standing(log) == []
        ends = [one for one in town.said(OutcomeExecution, log) if one.rollback_of]
        assert len(ends) == 2 * len(told.found)
        assert all("an earlier stack left it" in one.text for one in ends)
        assert {one.part for one in ends} == {FIRST_PART + n for n in range(11)}

    play(scene)


def test_it_is_taken_over_on_request() -> None:
    """Nothing is written; it stands by its number, and `undo` of everything takes it back, as the end of a run does."""

    async def scene() -> None:
        town = Town()
        town.furnish()
        asleep = town.nodes[1]
        town.own(asleep, SLEPT)
        log, door = MemoryLog(), town.door()
        stack = town.executor(STRANGER, door, log, left_behind="take_over")
        async with ended(stack):
            await asyncio.sleep(20.0)
            for cycle in (1, 2):
                await town.see(log, cycle)
                await asyncio.sleep(5.0)
            assert door.written == []
            assert standing(log) == [f"1.{FIRST_PART}"]
            bus = MemoryBus(log, ORIGIN.cluster)
            wish = make_control(Command.UNDO, value=EVERYTHING)
            await Publisher(bus, ORIGIN, "operator").publish([NewEvent(wish, 2, 100.0)])
            await asyncio.sleep(5.0)
        assert not town.ask("GET", asleep)["spec"].get("unschedulable")
        assert standing(log) == []

    play(scene)


@pytest.mark.parametrize(
    "options", [{"left_behind": "leave"}, {"mode": Mode.SHADOW}], ids=["leave", "shadow"]
)
def test_it_is_said_alone(options: dict[str, Any]) -> None:
    """By request, and always in shadow mode: one event, once, and no write."""

    async def scene() -> None:
        town = Town()
        town.furnish()
        town.own(town.nodes[1], SLEPT)
        log = await town.next_stack(1, 2, 3, **options)
        (told,) = said(log)
        assert [one.text for one in told.found] == [
            f"node {town.nodes[1].rpartition('/')[2]} set to sleep and cordoned"
        ]
        assert town.ask("GET", town.nodes[1])["spec"]["unschedulable"] is True
        assert standing(log) == []
        event = next(
            event_of(message)
            for message in log.messages
            if isinstance(event_of(message).data, OutcomeLeftBehind)
        )
        assert "an earlier stack left 1 thing" in event_text(event)

    play(scene)


def test_nothing_left_is_nothing_said() -> None:
    """A cluster without marks, and with marks that are somebody else's: no event, no write."""

    async def scene() -> None:
        town = Town()
        town.furnish()
        first, second, _ = town.nodes
        town.ask("PATCH", first, {"spec": {"unschedulable": True}}, MERGE)
        awake = {"metadata": {"annotations": {"foresail.dev/power-state": "on"}}}
        town.ask("PATCH", second, awake, MERGE)
        town.ask("POST", f"{SHOP}/resourcequotas", QUOTA, fieldManager="somebody")
        log = await town.next_stack(1, 2)
        assert said(log) == []
        assert town.ask("GET", first)["spec"]["unschedulable"] is True
        assert len(town.ask("GET", f"{SHOP}/resourcequotas")["items"]) == 1

    play(scene)


def test_what_its_owner_changed_since_stays() -> None:
    """A number, an opened node, a released Job, amounts that somebody wrote: theirs stand, our notes go."""

    async def scene() -> None:
        town = Town()
        town.furnish()
        leave_everything(town)
        amount = {"containers": [{"name": "c", "resources": {"limits": {"cpu": "3"}}}]}
        town.ask(
            "PATCH", f"{town.pod}/resize", {"spec": amount}, STRATEGIC, fieldManager="somebody"
        )
        town.ask("PATCH", f"{DEPLOYMENTS}/web", {"spec": {"replicas": 4}}, MERGE)
        town.ask("PATCH", f"{DEPLOYMENTS}/held", {"spec": {"replicas": 1}}, MERGE)
        town.ask("PATCH", town.nodes[1], {"spec": {"unschedulable": None}}, MERGE)
        await town.next_stack(1, 2, 3)

        web, held = town.state_of(f"{DEPLOYMENTS}/web"), town.state_of(f"{DEPLOYMENTS}/held")
        assert (web["spec"]["replicas"], web["annotations"]) == (4, {})
        assert (held["spec"]["replicas"], held["annotations"]) == (1, {})
        assert town.state_of(town.nodes[1])["annotations"] == {}
        assert town.state_of(town.pod)["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "3"

    play(scene)


def test_only_what_may_be_written_is_taken_back() -> None:
    """Another namespace's raise and a node that is not named are told as out of reach, and stay."""

    async def scene() -> None:
        town = Town()
        town.furnish()
        leave_everything(town)
        log = await town.next_stack(1, 2, namespaces=("pay",), writable_nodes="ours=yes")
        (told,) = said(log)
        assert told.found == ()
        assert f"taint foresail.dev/risk on {town.nodes[0].rpartition('/')[2]}" in told.out_of_reach
        assert any("shop/web: replicas 5" in one for one in told.out_of_reach)
        assert "out of reach here" in told.text
        assert town.state_of(f"{DEPLOYMENTS}/web")["spec"]["replicas"] == 5

    play(scene)


def test_a_stack_that_comes_back_does_not_take_its_own_for_left() -> None:
    """An executor that was killed and is started again on the same log goes on with what it did."""

    async def scene() -> None:
        town = Town()
        first = town.executor(FIRST, town.door())
        async with ended(first):
            await asyncio.sleep(1.0)
            await town.decide(1)
            await asyncio.sleep(5.0)
        assert town.plant.shown()["spec"]["unschedulable"] is True
        again = town.executor(FIRST, town.door())
        async with ended(again):
            await asyncio.sleep(20.0)
            await town.see(town.log, 2)
            await asyncio.sleep(5.0)
        assert said(town.log) == []
        assert town.plant.shown()["spec"]["unschedulable"] is True

        log = await town.next_stack(3, 4)
        assert "unschedulable" not in town.plant.shown()["spec"]
        (told,) = said(log)
        assert [one.operations[0].name for one in told.found] == [town.plant.node]

    play(scene)


def test_more_than_one_event_holds_is_given_back_in_turn() -> None:
    """A hundred and more marks: the first event counts the rest, and the next cycles take them up."""

    async def scene() -> None:
        town = Town()
        town.furnish()
        count = MOST_FOUND + 3
        for number in range(count):
            spec = {"parallelism": 1, "suspend": True}
            pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "a:1"}]}
            notes = {"foresail.dev/held": '{"suspend": false}'}
            body = {
                "metadata": {"name": f"j{number}", "annotations": notes},
                "spec": {**spec, "template": {"spec": pod}},
            }
            town.ask("POST", "/apis/batch/v1/namespaces/shop/jobs", body)
        log = await town.next_stack(1, 2, 3)
        assert [(len(one.found), one.more) for one in said(log)] == [(MOST_FOUND, 3), (3, 0)]
        jobs = town.ask("GET", "/apis/batch/v1/namespaces/shop/jobs")["items"]
        assert not [one for one in jobs if one["spec"].get("suspend")]
        assert ExecutionPhase.REFUSED not in {one.phase for one in town.ends(log)}

    play(scene)
