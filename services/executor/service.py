"""The executor's shell: which effect each step of the ledger asks for, and its wiring.

`started` with the whole plan is stored before the first write, and operations state absolute ends,
so after a crash a started plan is simply applied again or, when it is too old, abandoned.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from random import Random
from typing import TypeVar

import structlog

from bus.clock import Clock
from bus.events import cycle_of_message, event_of
from bus.follow import Follower, Publisher
from bus.handler_process import config_of
from bus.item_errors import ItemErrors, ends_at_first_error
from bus.port import Bus
from schemas import subjects
from schemas.control import Control
from schemas.identity import Origin
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase, Mode
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.executor.execution.attempts import Attempts, SideEffect
from services.executor.execution.context import SideEffectContext
from services.executor.execution.execute import execute, resume
from services.executor.guards import registered_guards
from services.executor.ledger import Execution, Ledger, Place
from services.executor.ledger.handler import NAME, ExecutorHandler
from services.executor.reading.capabilities import CapabilityWatch
from services.executor.reading.followed_lists import FollowedLists
from services.executor.reading.pod_amounts import PodReader
from services.executor.settings import ExecutorSettings
from services.executor.undo.causes import rollback_cause
from services.executor.undo.roll_back import roll_back, rollback_order
from services.executor.verification.judging import due_for_verification
from services.executor.verification.verify import ReachedStates, verify
from services.executor.writing.object_events import ObjectEvents
from services.executor.writing.writer import OperationWriter
from services.kube_follow import WatchTransport

__all__ = ["NAME", "Executor", "ExecutorHandler", "run"]

T = TypeVar("T")


async def run(
    settings: ExecutorSettings,
    bus: Bus,
    clock: Clock,
    origin: Origin,
    transport: Transport,
    *,
    code_version: str = "",
    on_progress: Callable[[str, int], None] | None = None,
    errors: ItemErrors | None = None,
) -> None:
    """Execute decisions until cancelled.

    Raises:
        ConfigError: a file in `services/executor/guards/` declares no guard that can be used.
    """
    registered_guards()
    errors = errors or ends_at_first_error(NAME)
    # In time lapse the server's time between two answers is not known well enough to date a plan.
    if settings.speed == 1.0 and isinstance(transport, WatchTransport):
        followed = FollowedLists(
            transport, clock, Random(f"{origin.cluster} {NAME}"), errors=errors
        )
        async with followed.running():
            await _execute(
                settings, bus, clock, origin, followed, code_version, on_progress, errors
            )
    else:  # or the embedded cluster in process, whose lists cost what has changed anyway
        await _execute(settings, bus, clock, origin, transport, code_version, on_progress, errors)


async def _execute(
    settings: ExecutorSettings,
    bus: Bus,
    clock: Clock,
    origin: Origin,
    transport: Transport,
    code_version: str,
    on_progress: Callable[[str, int], None] | None,
    errors: ItemErrors,
) -> None:
    publisher = Publisher(bus, origin, NAME)
    await publisher.publish_config(
        config_of(NAME, settings.announcement(), code_version), clock.wall_ns() / 1e9
    )

    if settings.namespaces is not None and settings.mode is Mode.ACTIVE:
        early = "active mode on a real cluster is early"
        structlog.get_logger(NAME).warning(early, namespaces=settings.namespaces)

    async def newest_control() -> Control | None:
        stored = await bus.last(subjects.build(origin.cluster, Control.PATTERN))
        if stored is None:
            return None
        data = event_of(stored).data
        return data if isinstance(data, Control) else None

    async def newest_cycle() -> int | None:
        stored = await bus.last(subjects.build(origin.cluster, Observation.PATTERN))
        return None if stored is None else cycle_of_message(stored)

    executor = Executor(settings, publisher, transport, newest_control, newest_cycle, errors)
    await Follower(
        ExecutorHandler(),
        bus,
        clock,
        publisher,
        act=executor.act,
        on_progress=on_progress,
        errors=errors,
    ).run()


class Executor:
    """Does what the newest decision asks for, within the guard rails."""

    def __init__(
        self,
        settings: ExecutorSettings,
        publisher: Publisher,
        transport: Transport,
        newest_control: Callable[[], Awaitable[Control | None]] | None = None,
        newest_cycle: Callable[[], Awaitable[int | None]] | None = None,
        errors: ItemErrors | None = None,
    ) -> None:
        """Execute through `transport`; the log is asked for the newest command and the newest cycle
        before every single write.

        An error of one effect ends there with `errors`; without them it goes on to whoever lets this act.
        """
        self._errors = errors or ends_at_first_error(NAME)
        writer = OperationWriter(settings, transport, newest_control, newest_cycle)
        log = structlog.get_logger(NAME)
        reader = PodReader(transport, settings)
        events = ObjectEvents(transport, log) if settings.object_events else None
        self._context = SideEffectContext(
            settings, publisher, transport, writer, reader, log, events
        )
        self._means = CapabilityWatch(transport, settings)
        self._attempts = Attempts()
        self._looks = ReachedStates()

    async def act(self, state: Ledger) -> None:
        """Take the first effect that this state asks for, once per part of a decision and process.

        Only one: its event may have waited for the server through an outage, so what follows is
        judged by the state in which that event, and all that came before it, has been read.
        """
        context, attempts, cycle = self._context, self._attempts, state.seen.cycle
        attempts.allow_failed(cycle)
        with self._errors.item("means", cycle):
            await self._say_means(state)
        with self._errors.item("pods", cycle) as pods:
            await context.pod_reader.follow(cycle, state.seen.cluster_time_seconds)
        for execution in state.executions:
            place = execution.place
            if execution.phase is ExecutionPhase.STARTED and attempts.begin(
                SideEffect.EXECUTE, place
            ):
                resumed = resume(context, state, execution)
                return await self._attempt(resumed, cycle, SideEffect.EXECUTE, place)
        for due in () if pods.failed else state.due:
            if attempts.begin(SideEffect.EXECUTE, due.place):
                executed = execute(context, state, due)
                return await self._attempt(executed, cycle, SideEffect.EXECUTE, due.place)
        for effect, execution, retry, doing in self._afterwards(state):
            place = execution.place
            if attempts.begin(effect, place, retry):
                settled = await self._attempt(doing(), cycle, effect, place, retry)
                if settled:
                    return None
                if settled is False:
                    attempts.allow_retry(effect, place, retry)
        return None

    def _afterwards(
        self, state: Ledger
    ) -> Iterator[tuple[SideEffect, Execution, int, Callable[[], Awaitable[bool]]]]:
        """Yield what is due of executions that have finished: effect, execution, number of the retry, how."""
        context = self._context
        for execution in due_for_verification(state, context.settings.verify_cycles):
            yield (
                SideEffect.VERIFY,
                execution,
                0,
                partial(verify, context, self._looks, state, execution),
            )
        for execution in () if state.killed else rollback_order(context, state):
            cause = rollback_cause(context, state, execution)
            if cause:
                yield (
                    SideEffect.ROLL_BACK,
                    execution,
                    execution.rollbacks_failed,
                    partial(roll_back, context, state, execution, cause),
                )

    async def _attempt(
        self, doing: Awaitable[T], cycle: int, effect: SideEffect, place: Place, retry: int = 0
    ) -> T | None:
        """Return what an effect returns; None when it raised, and a later cycle may try it again."""
        key = f"{place} seen in cycle {cycle}"
        with self._errors.item(f"{effect.name.lower()} effect", key):
            return await doing
        self._attempts.note_failure(cycle, effect, place, retry)
        return None

    async def _say_means(self, state: Ledger) -> None:
        """Publish which actions cannot be done, once that has changed."""
        context = self._context
        try:
            change = await self._means.look(state, context.mode(state))
        except (ClusterUnavailable, ClusterRefused) as error:
            context.log.warning("means not asked", error=str(error))
            return
        if change is not None:
            await context.publish(change, (state.seen.id,))
