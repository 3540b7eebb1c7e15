"""The real executor on a recorded cluster, fed with decisions that nobody should make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bus.follow import Publisher
from bus.memory_adapter import MemoryBus, MemoryLog
from schemas.actions import Action
from schemas.control import Command, Control
from schemas.envelope import Event
from schemas.outcome import ExecutionPhase, Mode, Operation, OutcomeExecution
from schemas.registry import decode
from services.executor.ledger import Ledger
from services.executor.ledger.handler import evolve
from services.executor.service import Executor
from services.executor.settings import ExecutorSettings
from services.official_client import OfficialClientTransport
from tests.builders import ORIGIN, cycle_time, make_action, make_control, make_decision, stamp_event
from tests.builders import make_observation as observation
from tests.safety.world import NAMED, World


@dataclass
class Ground:
    """One executor, its log and its ledger."""

    world: World
    mode: Mode = Mode.ACTIVE
    options: dict[str, Any] = field(default_factory=dict)
    meanwhile: Callable[[], None] | None = None
    """Called right before each write is judged, when the operator is asked."""

    def __post_init__(self) -> None:
        """Start with an empty log."""
        given = {"namespaces": NAMED, "settle_seconds": 0, **self.options}
        self.settings = ExecutorSettings(mode=self.mode, cool_down_seconds=0, **given)
        self.log = MemoryLog()
        self.state = Ledger()
        self.applied = 0
        publisher = Publisher(MemoryBus(self.log, ORIGIN.cluster), ORIGIN, "executor")
        self.transport = OfficialClientTransport(self.world.kubeconfig)
        self.executor = Executor(self.settings, publisher, self.transport, self._control)
        self.see(1)

    async def _control(self) -> Control | None:
        if self.meanwhile is not None:
            self.meanwhile()
        return None

    def see(self, cycle: int) -> None:
        """Apply an observation."""
        self.state = evolve(self.state, stamp_event(observation(7, cycle=cycle)))

    async def decide(self, action: Action, cycle: int = 1) -> OutcomeExecution:
        """Let the executor act on a decision; return the last it said of it."""
        self.state = evolve(self.state, stamp_event(make_decision(action, cycle=cycle, score=0.9)))
        return await self.act()

    async def act(self) -> OutcomeExecution:
        """Act until nothing more is said; return the newest execution."""
        await self.executor.act(self.state)
        while self.apply_new_events():
            await self.executor.act(self.state)
        return [event for event in self.all_events() if isinstance(event.data, OutcomeExecution)][
            -1
        ].data

    async def resume(self, operation: Operation) -> OutcomeExecution:
        """Begin with a plan that an earlier process stored and did not complete."""
        self._apply(self._started_event(operation, ExecutionPhase.STARTED))
        return await self.act()

    async def undo(self, operation: Operation) -> OutcomeExecution:
        """Begin with an execution that is done, and which the operator wants taken back."""
        for phase in (ExecutionPhase.STARTED, ExecutionPhase.FINISHED):
            self._apply(self._started_event(operation, phase))
        self._apply(stamp_event(make_control(Command.UNDO, value="1"), cycle=0))
        return await self.act()

    def _started_event(self, operation: Operation, phase: ExecutionPhase) -> Event[Any]:
        finished = phase is ExecutionPhase.FINISHED
        data = OutcomeExecution(
            cycle=1,
            cluster_time_seconds=cycle_time(1),
            decision_id="d",
            phase=phase,
            mode=Mode.ACTIVE,
            action=make_action(),
            operations=(operation,),
            direction="off",
            succeeded=True if finished else None,
            text="of an earlier process",
        )
        return stamp_event(data)

    def _apply(self, event: Event[Any]) -> None:
        self.state = evolve(self.state, event)

    def apply_new_events(self) -> bool:
        """Apply the events published since the last call; return whether there were any."""
        new = self.all_events()[self.applied :]
        for event in new:
            self._apply(event)
        self.applied += len(new)
        return bool(new)

    def all_events(self) -> list[Event[Any]]:
        """Return every event of the log."""
        return [
            decode(message.subject, message.headers, message.data) for message in self.log.messages
        ]
