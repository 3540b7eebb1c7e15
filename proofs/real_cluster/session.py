"""The product's collector and executor on a real cluster, over a log in memory; decisions are the proof's own."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from bus.clock import SystemClock
from bus.events import event_of
from bus.follow import Publisher
from bus.memory_adapter import MemoryBus, MemoryLog
from proofs.real_cluster.audit import REVIEWS, Request
from proofs.real_cluster.environment import RealCluster, Token
from proofs.real_cluster.population import SHOP, WRITABLE
from schemas.actions import Action
from schemas.control import Command, Control
from schemas.decision import ClosedBy, Decision, DecisionPart, RefereeRule
from schemas.envelope import Event, NewEvent
from schemas.identity import Origin
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution
from services.cluster import JSON, ApiResponse, Json, Method
from services.collector import service as collector
from services.collector.settings import CollectorSettings
from services.executor import service as executor
from services.executor.settings import ExecutorSettings
from services.official_client import OfficialClientTransport

ORIGIN = Origin("real", "1")
INTERVAL_SECONDS = 1.0
ANSWER_SECONDS = 900.0
FLUSH_SECONDS = 0.5
"""The audit log is written after the answer is sent; on a busy machine it is looked at again."""
FLUSH_LOOKS = 10
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was asked of the executor, what reached the server, and what the log says."""

    asked: str
    outcome: OutcomeExecution
    requests: tuple[Request, ...]
    """The executor's writes in between, dry runs among them, but not what it tells on objects (KubeEvents)."""

    @property
    def changed(self) -> list[Request]:
        """Those that changed something."""
        return [one for one in self.requests if one.changed]

    @property
    def said(self) -> str:
        """Phase, reason and text of the event."""
        outcome = self.outcome
        reason = f" {outcome.reason}" if outcome.reason else ""
        done = " succeeded" if outcome.succeeded else ""
        return f"{outcome.phase}{done}{reason}: {outcome.text}"


class HookedTransport(OfficialClientTransport):
    """The product's way to the server, with somebody else acting right before a write."""

    before: Callable[[str, str], None] | None = None
    """Called once with method and path of the next write that is no dry run."""

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Send one request; see `Transport.request`."""
        dry = "dryRun" in (query or {})
        if method != "GET" and not dry and self.before is not None and REVIEWS not in path:
            before, self.before = self.before, None
            await asyncio.to_thread(before, method, path)
        return await super().request(method, path, query, body, content_type)


@dataclass
class Session:
    """One run of both services; `decide`, `undo` and `wait_for` are what a case does with it."""

    cluster: RealCluster
    settings: ExecutorSettings
    steps: list[Step]
    token: Token
    log: MemoryLog = field(default_factory=MemoryLog)
    deadline_seconds: float = ANSWER_SECONDS

    def __post_init__(self) -> None:
        """Publish as the referee and as the operator."""
        self._bus = MemoryBus(self.log, ORIGIN.cluster)
        self._referee = Publisher(self._bus, ORIGIN, "referee")
        self._operator = Publisher(self._bus, ORIGIN, "operator")
        self._tasks: list[asyncio.Task[None]] = []
        self._executor: asyncio.Task[None] | None = None
        self.transport: HookedTransport | None = None

    # ---- processes

    async def start(self) -> None:
        """Start both services, each with the token of its own account, and wait for an observation."""
        path = self.cluster.plane.folder / "collector.token"
        own = Token(self.cluster.api, "foresail-collector", path)
        config = self.cluster.account("collector", own)
        settings = CollectorSettings(interval_seconds=INTERVAL_SECONDS)
        bus, clock = MemoryBus(self.log, ORIGIN.cluster), SystemClock()
        transport = OfficialClientTransport(config)
        self._tasks.append(
            asyncio.create_task(collector.run(settings, bus, clock, ORIGIN, transport))
        )
        await self.start_executor()
        await self.observation()

    async def start_executor(self) -> None:
        """Start the executor, perhaps again: it reads the log from its beginning."""
        config = self.cluster.account("executor", self.token)
        seconds = self.settings.request_timeout_seconds
        self.transport = HookedTransport(config, timeout_seconds=seconds)
        bus, clock = MemoryBus(self.log, ORIGIN.cluster), SystemClock()
        self._executor = asyncio.create_task(
            executor.run(self.settings, bus, clock, ORIGIN, self.transport)
        )

    async def kill_executor(self) -> None:
        """End the executor wherever it is."""
        if self._executor is not None:
            self._executor.cancel()
            with suppress(asyncio.CancelledError):
                await self._executor

    async def end(self) -> None:
        """End both services."""
        await self.kill_executor()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # ---- the log

    def events(self, kind: type[Any]) -> list[Event[Any]]:
        """Return every event of a kind, oldest first."""
        for task in (*self._tasks, self._executor):
            if task is not None and task.done() and not task.cancelled():
                task.result()  # a service that ended by an error is no session any more
        stored = (event_of(message) for message in self.log.messages)
        return [event for event in stored if isinstance(event.data, kind)]

    async def wait_for(self, what: str, so: Callable[[], Any], seconds: float = 0.0) -> Any:
        """Wait until something is so, and return it.

        Raises:
            AssertionError: it did not come in time.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + (seconds or self.deadline_seconds)
        while not (found := so()):
            assert loop.time() < end, f"{what}: not within {seconds or self.deadline_seconds:g} s"
            await asyncio.sleep(0.2)
        return found

    async def observation(self, after: int = 0) -> Event[Any]:
        """Return the newest observation, once there is one of a later cycle."""

        def newest() -> Event[Any] | None:
            found = self.events(Observation)
            return found[-1] if found and found[-1].data.cycle > after else None

        event: Event[Any] = await self.wait_for("an observation", newest)
        return event

    # ---- what a case asks

    def before_write(self, act: Callable[[], Any], after: int = 0) -> None:
        """Have somebody else act right before the executor's next write, or one that comes `after` so many."""
        transport = self.transport
        assert transport is not None

        def count_down(left: int) -> Callable[[str, str], None]:
            def before(_method: str, _path: str) -> None:
                if left:
                    transport.before = count_down(left - 1)
                else:
                    act()

            return before

        transport.before = count_down(after)

    async def decide(self, *actions: Action, score: float = 0.9) -> Step:
        """Have a decision executed; return its first part's end."""
        seen = await self.observation(after=(await self.observation()).data.cycle)
        data = seen.data
        decision = Decision(
            cycle=data.cycle,
            cluster_time_seconds=data.cluster_time_seconds,
            observation_id=seen.id,
            closed_by=ClosedBy.ALL,
            parts=tuple(DecisionPart(action=one, selected=None, score=score) for one in actions),
            rule=RefereeRule.FIXED_ORDER,
            rationale="a case of the proof",
            considered=(),
            overridden={},
            missing=(),
            repeat_count=1,
            profile="proof",
        )
        mark = self.cluster.audit.mark()
        new = NewEvent(decision, data.cycle, data.cluster_time_seconds, (seen.id,))
        await self._referee.publish([new])
        asked = "; ".join(f"{one.full_kind} {one.aim}".strip() for one in actions)
        return await self._step(f"{self.settings.mode}: {asked}", data.cycle, mark, undo=False)

    async def undo(self, step: Step) -> Step:
        """Have an execution taken back, as the operator does."""
        cycle, mark = step.outcome.cycle, self.cluster.audit.mark()
        wall_seconds = SystemClock().wall_ns() / 1e9
        control = Control(
            command=Command.UNDO,
            value=str(cycle),
            nonce=str(next(_numbers)),
            wall_time_seconds=wall_seconds,
        )
        await self._operator.publish([NewEvent(control, 0, wall_seconds)])
        return await self._step(f"undo {step.outcome.action.kind}", cycle, mark, undo=True)

    async def taken_back(self, step: Step, asked: str, seconds: float = 0.0) -> Step:
        """Wait until an execution is taken back by itself."""
        mark = self.cluster.audit.mark()
        return await self._step(asked, step.outcome.cycle, mark, undo=True, seconds=seconds)

    def ends(self, cycle: int, *, undo: bool) -> list[OutcomeExecution]:
        """Return how the executions of a cycle ended, or their undoing."""
        found = (event.data for event in self.events(OutcomeExecution))
        return [
            one
            for one in found
            if one.cycle == cycle
            and bool(one.rollback_of) is undo
            and one.phase is not ExecutionPhase.STARTED
        ]

    async def _step(
        self, asked: str, cycle: int, mark: int, *, undo: bool, seconds: float = 0.0
    ) -> Step:
        (*_, outcome) = await self.wait_for(
            f"the end of {asked}", lambda: self.ends(cycle, undo=undo), seconds
        )
        answered = sum(one.http_status is not None for one in outcome.results)
        own: list[Request] = []
        for _ in range(FLUSH_LOOKS):
            await asyncio.sleep(FLUSH_SECONDS)
            found = self.cluster.audit.since(mark, user="foresail-executor")
            own = [one for one in found if one.writes and one.resource != "events"]
            if len(own) >= answered:
                break
        step = Step(asked, outcome, tuple(own))
        self.steps.append(step)
        return step


@asynccontextmanager
async def session(
    cluster: RealCluster, steps: list[Step], mode: Mode = Mode.ACTIVE, **options: Any
) -> AsyncIterator[Session]:
    """Run both services until the block ends; `options` are settings of the executor."""
    given = {
        "namespaces": (SHOP,),
        "writable_nodes": f"{WRITABLE}=true",
        "settle_seconds": 0,  # but in the case of its own
        **options,
    }
    settings = ExecutorSettings(mode=mode, **given)
    token = Token(cluster.api, "foresail-executor", cluster.plane.folder / "executor.token")
    running = Session(cluster, settings, steps, token)
    await running.start()
    try:
        yield running
    finally:
        await running.end()
