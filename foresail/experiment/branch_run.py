"""Plays a branch: the twin from a point on, seen by the product's collector and priced by its score.

Nothing of the controller runs in it but the action's own writes and what belongs to them.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass

from bus.events import event_of
from bus.memory_adapter import MemoryBus, MemoryLog
from foresail.experiment.branching import BranchPoint
from foresail.settings import StackSettings
from lab.calibration.continuation import Continuation
from lab.calibration.samples import ActionSample
from projections.score.money import difference_of, slo_of
from projections.score.prices import ScorePrices
from projections.score.tally import Tally, add_score_input, begin_tally, score_input_of
from schemas import subjects
from schemas.actions import Action
from schemas.identity import Origin
from schemas.observation import Observation
from schemas.outcome import Operation, OperationResult, OutcomeExecution
from schemas.view import ObservationView, update_view
from services.agents.demand_sample import GIB
from services.collector.collected import CollectedCycle
from services.collector.service import Collector
from services.executor.plans import PLANS
from services.executor.plans.planned import PlanRefusal
from services.executor.reading.facts import read_facts
from services.executor.settings import ExecutorSettings
from services.executor.writing.operations import apply_operation
from services.twin_transport import TwinTransport
from twin.port.api import InProcessTwin
from twin.port.engine import Engine

ORIGIN = Origin("branch", "virtual")
MACHINE_STEP_SECONDS = 60.0
"""Between two looks where machines are switched for up to two hours; else every cycle, as in the acted world."""
MACHINE_KINDS = frozenset({"migrate:pack", "power_state:sleep"})
KEPT_MESSAGES = 100


@dataclass(frozen=True, slots=True)
class Capacity:
    """Requests of pods in a branch over its time."""

    core_hours: float = 0.0
    memory_gib_hours: float = 0.0


@dataclass(frozen=True, slots=True)
class PlayedBranch:
    """A branch at the end of the horizon."""

    tally: Tally
    capacity: Capacity
    continued: tuple[str, ...] = ()
    """Kinds of what was done beyond the action's own writes."""


def measure(point: BranchPoint, settings: StackSettings, began_seconds: float) -> ActionSample:
    """Play both branches of a point and return what was expected and what came of it.

    Args:
        point: where the world branches; its engines are used up.
        settings: of the run, everything filled in.
        began_seconds: cluster time at which the run began.
    """
    prices = settings.scoreboard.score or ScorePrices()
    acted = asyncio.run(_play(point, point.with_action, settings, acts=True))
    left = asyncio.run(_play(point, point.without, settings, acts=False))
    changed = difference_of(acted.tally, left.tally, prices)
    value = settings.agents.value
    cores = acted.capacity.core_hours - left.capacity.core_hours
    memory = acted.capacity.memory_gib_hours - left.capacity.memory_gib_hours
    charged = "capacity" in point.effect.terms
    capacity = -cores * value.core_hour - memory * value.memory_gib_hour if charged else 0.0
    return ActionSample(
        kind=point.kind,
        cycle=point.started.cycle,
        part=point.started.part,
        at_seconds=round(point.started.cluster_time_seconds - began_seconds, 3),
        target=point.started.action.target.name,
        horizon_seconds=point.effect.horizon_seconds,
        stated=point.effect.net,
        low=point.effect.low,
        high=point.effect.high,
        expected_terms=point.effect.terms,
        score=changed.total_money,
        capacity=capacity,
        components={
            one.name: one.total_money for one in changed.components if abs(one.total_money) > 1e-9
        },
        continued=acted.continued,
    )


async def _play(
    point: BranchPoint, engine: Engine, settings: StackSettings, *, acts: bool
) -> PlayedBranch:
    """Let a branch go on for the horizon of the expectation, and return what was seen of it."""
    branch = _Branch(engine, settings)
    continuation = Continuation(point.kind, point.started, slo_of(branch.prices))
    view = await branch.see(point.look)
    if acts:
        await _write(branch.transport, point.started)
    horizon = point.effect.horizon_seconds
    cycle = settings.collector.cycle_seconds
    step = max(cycle, MACHINE_STEP_SECONDS) if point.kind in MACHINE_KINDS else cycle
    until = engine.now + horizon
    at = view.cluster_time_seconds
    while at < until:
        at = min(at + step, until)
        engine.advance(max(at, engine.now))
        before, view = view, await branch.see()
        action = continuation.next_action(before, view) if acts and at < until else None
        if action is not None:
            await carry_out(branch.transport, action, settings.executor)
    return PlayedBranch(branch.tally, branch.capacity, tuple(continuation.done))


class _Branch:
    """One engine with a collector of its own, and what adds up of its observations."""

    def __init__(self, engine: Engine, settings: StackSettings) -> None:
        self.transport = TwinTransport(InProcessTwin(engine))
        self.prices = settings.scoreboard.score or ScorePrices()
        self.capacity = Capacity()
        clock = _EngineClock(engine)
        self._bus = MemoryBus(
            MemoryLog(wall_ns=clock.wall_ns, keep_messages=KEPT_MESSAGES), ORIGIN.cluster
        )
        self._collector = Collector(
            settings.collector, self._bus, clock, ORIGIN, self.transport, code_version=""
        )
        self._view: ObservationView | None = None
        self._tally: Tally | None = None

    @property
    def tally(self) -> Tally:
        """What has added up since the branch began."""
        assert self._tally is not None
        return self._tally

    async def see(self, known: CollectedCycle | None = None) -> ObservationView:
        """Look at the branch now, or take over what was seen of it before."""
        cycle = None if known is None else known.cycle
        await self._collector.collect_once(cycle=cycle, look=known)
        stored = await self._bus.last(subjects.build(ORIGIN.cluster, Observation.PATTERN))
        assert stored is not None
        before, view = self._view, update_view(self._view, event_of(stored))
        assert view is not None
        self._view = view
        if before is not None:
            self.capacity = _add_capacity(self.capacity, before, view)
        look = score_input_of(view)
        assert look is not None  # the collector counts work
        self._tally = (
            begin_tally(look)
            if self._tally is None
            else add_score_input(self._tally, look, slo_of(self.prices))
        )
        return view


def _add_capacity(capacity: Capacity, before: ObservationView, now: ObservationView) -> Capacity:
    hours = (now.cluster_time_seconds - before.cluster_time_seconds) / 3_600.0
    nodes = before.nodes
    cpu = zip(nodes.cpu_requested_ratio, nodes.cpu_allocatable_cores, strict=True)
    memory = zip(nodes.memory_requested_ratio, nodes.memory_allocatable_bytes, strict=True)
    cores, held_bytes = (
        [(share or 0.0) * size for share, size in pairs] for pairs in (cpu, memory)
    )
    return Capacity(
        capacity.core_hours + math.fsum(cores) * hours,
        capacity.memory_gib_hours + math.fsum(held_bytes) / GIB * hours,
    )


async def _write(transport: TwinTransport, started: OutcomeExecution) -> None:
    """Write a part's operations, as the executor does: until one does not go through."""
    for operation in started.operations:
        if not await _has_applied(transport, operation):
            return


async def carry_out(
    transport: TwinTransport, action: Action, settings: ExecutorSettings
) -> str | None:
    """Plan an action as the executor would, without its guards, and write it; return why not, or None."""
    facts = await read_facts(transport, action)
    planned = PLANS[action.kind](action, facts, settings)
    if isinstance(planned, PlanRefusal):
        return planned.text
    for operation in planned.operations:
        if not await _has_applied(transport, operation):
            return f"{operation.text} was refused"
    return None


async def _has_applied(transport: TwinTransport, operation: Operation) -> bool:
    result = await apply_operation(
        transport, operation, dry_run=False, check_guards=_no_guard_forbids
    )
    return result.status in {"applied", "unchanged"}


async def _no_guard_forbids() -> OperationResult | None:
    """The executor's guards have let the acted world's write through already."""
    return None


class _EngineClock:
    """Cluster time as the collector's clock."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def wall_ns(self) -> int:
        """Return nanoseconds since the Unix epoch."""
        return round(self._engine.now * 1e9)

    def monotonic(self) -> float:
        """Return cluster seconds."""
        return self._engine.now

    async def sleep(self, seconds: float) -> None:
        """Nothing waits in a branch."""
        del seconds
