"""All kinds of action mixed, in any order, with duplicates, deaths, stale observations and others at work: what
reaches the server stays within every rail.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from random import Random
from typing import Any

import pytest

from schemas.actions import Action, ActionKind
from schemas.control import Command
from schemas.outcome import ExecutionPhase, OutcomeExecution, Verb
from schemas.reasons import Reason
from schemas.surge import OWNER_REPLICAS
from services.executor.ledger import evolve
from services.executor.settings import DISRUPTIVE, Budget, Caps, ExecutorSettings
from services.held import HELD
from tests.builders import make_action, make_control, make_decision, stamp_event
from tests.executor.mixed_world import (
    LEAST,
    LEAST_AVAILABLE,
    MERGE,
    MOST,
    NODES,
    OPEN_NODES,
    OWNERS,
    SHOP,
    MixedPlant,
    Reached,
)

pytestmark = pytest.mark.timeout(300)
SEEDS = range(10)
PLAYED: dict[int, list[OutcomeExecution]] = {}
"""What was executed in each world that was played already: half a minute of processor time."""
STEPS = 45
RESIZES = frozenset({ActionKind.THROTTLE, ActionKind.MEMORY_BALLOON})
KINDS = tuple(kind for kind in ActionKind if kind is not ActionKind.NOOP)


def drawn_action(dice: Random, plant: MixedPlant) -> Action:
    """Return an action of any kind on anything, there or not, ours or not."""
    kind = dice.choice(KINDS)
    node = dice.choice([*plant.names, *plant.names[:OPEN_NODES], "gone"])
    if kind is ActionKind.ADMISSION:
        word = dice.choice(["admit", "queue", "deprioritize", "reject"])
        return make_action(kind=kind, admission=word)
    if kind is ActionKind.REPLICATE and dice.random() < 0.7:
        name = dice.choice(["shop/Deployment/web", "shop/Deployment/api", "pay/Deployment/bank"])
        return make_action(kind=kind, target=name, replicas=dice.randrange(1, 9))
    if kind is ActionKind.POWER_STATE:
        state = dice.choice(["sleep", "sleep", "off", "on"])
        return make_action(kind=kind, target=node, power_state=state)
    return make_action(kind=kind, target=node)


def _say(plant: MixedPlant, command: Command) -> None:
    plant.control = make_control(command)
    plant.state = evolve(plant.state, stamp_event(plant.control))


async def _wish_until_usage_is_known(dice: Random, plant: MixedPlant) -> None:
    """What pods use is measured from the first wish to give them less on."""
    kind = dice.choice(sorted(RESIZES))
    for number in range(20):
        plant.pass_time(5.0)
        if number % 4 == 0 or number == 19:  # a pod is watched for 40 s after a wish
            action = make_action(kind=kind, target=plant.names[0])
            decided = make_decision(action, cycle=plant.cycle, score=0.5)
            plant.state = evolve(plant.state, stamp_event(decided))
        await plant.live()


async def step(dice: Random, plant: MixedPlant) -> None:
    """Let one thing happen."""
    happens = dice.choices(
        ("decide", "pass", "wish", "stale", "switch", "undo", "restart", "others"),
        (60, 20, 3, 5, 5, 4, 3, 3),
    )[0]
    if happens == "pass":
        plant.pass_time(dice.choice([5.0, 30.0, 125.0, 700.0]))
    elif happens == "restart":
        plant.restart()
    elif happens == "switch":
        _say(plant, dice.choice([Command.KILL, Command.PAUSE, Command.RESUME, Command.RESUME]))
    elif happens == "undo":
        undo = make_control(Command.UNDO, value=dice.choice(["all", str(plant.cycle)]))
        plant.state = evolve(plant.state, stamp_event(undo, cycle=0))
    elif happens == "wish":
        await _wish_until_usage_is_known(dice, plant)
    elif happens == "others":
        path = f"/apis/apps/v1/{SHOP}/deployments/api"
        plant.ask("PATCH", path, {"metadata": {"labels": {"seen": str(plant.cycle)}}}, MERGE)
    else:
        plant.pass_time(5.0)
        decision = stamp_event(
            make_decision(drawn_action(dice, plant), cycle=plant.cycle, score=0.5)
        )
        for _ in range(dice.choice([1, 1, 2])):
            plant.state = evolve(plant.state, decision)
        if happens == "stale":
            plant.observed_cycle = plant.cycle + 3
    for _ in range(6):
        deadline = dice.randrange(80) if dice.random() < 0.4 else None
        if await plant.live(deadline):
            return


def plans(plant: MixedPlant) -> list[OutcomeExecution]:
    """Return every plan that began, rollbacks left out."""
    return [
        one
        for one in plant.executions()
        if one.phase is ExecutionPhase.STARTED and not one.rollback_of
    ]


def check_scope(writes: list[Reached], plant: MixedPlant) -> None:
    """Only the named namespace, and nodes with the label."""
    ours = set(plant.names[:OPEN_NODES])
    for one in writes:
        parts = one.path.split("/")
        if "namespaces" in parts:
            assert parts[parts.index("namespaces") + 1] == "shop", one.path
        else:
            assert parts[-1] in ours, one.path


def check_budget_of_pods(writes: list[Reached]) -> None:
    """An eviction leaves as many ready as the PodDisruptionBudget asks for."""
    for one in writes:
        if one.left_ready is not None and one.status < 300:
            assert one.left_ready >= LEAST_AVAILABLE, one


def check_minima(plant: MixedPlant) -> None:
    """Never fewer replicas than the owner asked for, but for what is held and says so."""
    for name, owner in OWNERS.items():
        spec = plant.spec_of(name)
        if HELD in spec["notes"]:
            assert json.loads(spec["notes"][HELD]) == {"replicas": owner}
        elif name != "api":
            assert spec["replicas"] >= owner, (name, spec["replicas"])
        else:
            assert spec["replicas"] >= LEAST
    scaler = plant.ask("GET", f"/apis/autoscaling/v2/{SHOP}/horizontalpodautoscalers/api")
    assert LEAST <= scaler["spec"]["minReplicas"] <= MOST
    notes = scaler["metadata"].get("annotations") or {}
    assert (scaler["spec"]["minReplicas"] > LEAST) <= (OWNER_REPLICAS in notes)


def check_windows(plant: MixedPlant, settings: ExecutorSettings) -> None:
    """No kind hits a target again, in its direction, while that cools down."""
    last: dict[tuple[str, str, str], float] = {}
    for one in plans(plant):
        key = one.action.kind, one.action.target.name, one.direction
        at = one.cluster_time_seconds
        assert at - last.get(key, -1e9) >= settings.cool_down_seconds, one.text
        last[key] = at


def check_age(writes: list[Reached], settings: ExecutorSettings) -> None:
    """What is begun rests on an observation that is not older than the limit."""
    for one in writes:
        assert one.plan is not None, one.path
        if not one.plan.rollback_of:
            assert one.newest_cycle - one.plan.cycle <= settings.stale_cycles, one


def check_budgets(plant: MixedPlant, writes: list[Reached], settings: ExecutorSettings) -> None:
    """In no window more nodes of a kind than its budget, by what was written."""
    undone = {
        (one.cycle, one.part)
        for one in plant.executions()
        if one.rollback_of and one.phase is not ExecutionPhase.STARTED
    }
    written = {(one.plan.cycle, one.plan.part) for one in writes if one.plan is not None}
    begun: dict[ActionKind, list[tuple[float, str]]] = defaultdict(list)
    for one in plans(plant):
        place = one.cycle, one.part
        if one.action.kind in DISRUPTIVE and one.direction != "on" and place in written - undone:
            begun[one.action.kind].append((one.cluster_time_seconds, one.action.target.name))
    for budget in settings.budgets_in_force:
        for kind in budget.reasons:
            for at, _ in begun[kind]:
                names = {
                    name for when, name in begun[kind] if 0 <= at - when < budget.window_seconds
                }
                assert len(names) <= budget.limit(NODES), (kind, names)


def check_once(plant: MixedPlant, writes: list[Reached]) -> None:
    """Each operation of a plan changes its object once at most, however often the process died."""
    changes: Counter[tuple[Any, ...]] = Counter()
    for one in writes:
        if one.changed and one.plan is not None:
            plan = one.plan
            same_object = sum(
                operation.name in one.path and operation.resource in one.path
                for operation in plan.operations
            )
            key = plan.cycle, plan.part, plan.rollback_of, plan.retry, one.path
            changes[key] += 1
            assert changes[key] <= max(1, same_object), key
    evicted = Counter(one.path for one in writes if one.path.endswith("/eviction") and one.changed)
    assert all(count == 1 for count in evicted.values()), evicted
    starts = Counter((one.cycle, one.part) for one in plans(plant))
    assert all(count == 1 for count in starts.values()), starts


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_rails_hold_in_any_order(seed: int) -> None:
    """Scope, disruption budgets, minima, cool-downs, age, budgets of nodes, and nothing twice."""
    dice, plant = Random(f"rails {seed}"), MixedPlant()
    settings = ExecutorSettings(mode=plant.mode, **plant.policy)
    for _ in range(STEPS):
        await step(dice, plant)
        check_minima(plant)
    PLAYED[seed] = plant.executions()
    writes = plant.writes()
    check_scope(writes, plant)
    check_budget_of_pods(writes)
    check_windows(plant, settings)
    check_age(writes, settings)
    check_budgets(plant, writes, settings)
    check_once(plant, writes)


async def _played(seed: int) -> list[OutcomeExecution]:
    dice, plant = Random(f"rails {seed}"), MixedPlant()
    for _ in range(STEPS):
        await step(dice, plant)
    return plant.executions()


async def test_the_worlds_above_reach_every_kind_of_write() -> None:
    """Rails that nothing runs against would hold, too."""
    kinds: Counter[str] = Counter()
    verbs: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for seed in SEEDS:
        for one in PLAYED.get(seed) or await _played(seed):
            if one.phase is ExecutionPhase.FINISHED and one.succeeded:
                kinds[one.action.kind] += 1
                verbs.update(operation.verb for operation in one.operations)
            if one.reason is not None:
                refused[one.reason] += 1
    assert set(kinds) >= set(KINDS), kinds
    assert set(verbs) >= {Verb.PATCH, Verb.EVICT, Verb.TAINT, Verb.RESIZE}, verbs
    assert len(refused) >= 12, refused


FREE = {
    "cool_down_seconds": 0.0,
    "cool_down_after_failure_seconds": 0.0,
    "ping_pong_seconds": 0.0,
    "budgets": (Budget(nodes="100%"),),
    "caps": Caps(per_node=999, per_namespace=999, per_workload=999),
}
"""Nothing holds the same action from being tried at every instruction."""


@pytest.mark.parametrize("kind", KINDS)
async def test_a_death_at_any_instruction_writes_nothing_twice(kind: ActionKind) -> None:
    """Before and after each request and each event the process dies once; the next one completes the plan, and every
    object of it was changed once.
    """
    plant = MixedPlant(policy=FREE)
    plant.see(plant.cycle)
    target = plant.names[OPEN_NODES - 1 if kind is ActionKind.POWER_STATE else 0]
    action = make_action(kind=kind, target=target)
    if kind is ActionKind.ADMISSION:
        action = make_action(kind=kind, admission="queue")
    instruction, done = 0, 0
    while True:
        if kind in RESIZES:
            await _know_usage(plant, action)
        known = len(plant.reached)
        lived = await _decided(plant, action, instruction)
        for _ in range(3):
            await plant.live()
        ended = plant.executions()[-1]
        writes = [one for one in plant.reached[known:] if one.real]
        changed = Counter(one.path for one in writes if one.changed)
        asked = Counter(_object_path(operation.name, changed) for operation in ended.operations)
        assert changed <= asked, (instruction, changed)
        if ended.phase is ExecutionPhase.FINISHED:
            assert ended.succeeded, (instruction, ended.text)
            assert changed == asked, (instruction, changed)
            done += 1
        elif kind in RESIZES and ended.reason is Reason.USAGE_UNKNOWN:
            assert not changed, (
                "one that dies before it began forgets what pods use, and begins nothing"
            )
            done += 1
        await _undone(plant)
        if lived:
            break
        instruction += 1
    assert instruction > 6
    assert done >= instruction - 2, "dying keeps the plan from being completed"


async def _decided(plant: MixedPlant, action: Action, instruction: int | None) -> bool:
    plant.pass_time(5.0)
    decision = make_decision(action, cycle=plant.cycle, score=0.5)
    plant.state = evolve(plant.state, stamp_event(decision))
    return await plant.live(instruction)


async def _know_usage(plant: MixedPlant, action: Action) -> None:
    """Wish until it is known what the pods use, and take that back."""
    for number in range(8):  # a pod is watched for 40 s after a wish
        if number in {0, 7}:
            await _decided(plant, action, None)
        else:
            plant.pass_time(5.0)
            await plant.live()
    assert plant.executions()[-1].succeeded, plant.executions()[-1].text
    await _undone(plant, 5.0)


def _object_path(name: str, paths: Counter[str]) -> str:
    """Return the path of an object of that name; itself where none was written."""
    return next((path for path in paths if f"/{name}" in path), name)


async def _undone(plant: MixedPlant, seconds: float = 60.0) -> None:
    plant.state = evolve(plant.state, stamp_event(make_control(Command.UNDO, value="all"), cycle=0))
    await plant.live()
    plant.pass_time(seconds)
    plant.state = plant.state.model_copy(update={"undo_until": None, "undo_parts": ()})
