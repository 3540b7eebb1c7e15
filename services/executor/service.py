"""The executor's shell: which effect each step of the ledger asks for, and its wiring.

`started` with the whole plan is stored before the first write, and operations state absolute ends,
so after a crash a started plan is simply applied again or, when it is too old, abandoned.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import structlog

from bus.cancellation import cancel_and_wait
from bus.clock import Clock
from bus.events import cycle_of_message, event_of
from bus.follow import Follower, Publisher
from bus.handler_process import config_of
from bus.port import Bus
from schemas import subjects
from schemas.control import Control
from schemas.identity import Origin
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase, Mode
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.executor.approvals import settled
from services.executor.attempts import Attempts, Effect
from services.executor.effects.context import EffectContext
from services.executor.effects.execute import execute, resume, settle
from services.executor.effects.object_events import ObjectEvents
from services.executor.effects.roll_back import roll_back, rollback_cause, rollback_order
from services.executor.effects.verify import verify
from services.executor.fence import FencedTransport
from services.executor.fencing import FencedPublisher, NewestHolder, lead_by_log, newest_leader
from services.executor.followed_lists import FollowedLists
from services.executor.guard_discovery import registered_guards
from services.executor.handler import NAME, ExecutorHandler
from services.executor.leading import GatedTransport, Leadership
from services.executor.lease import Candidate, Lead
from services.executor.ledger import Ledger
from services.executor.left_behind_look import LeftBehindLook
from services.executor.looks import Looks
from services.executor.means_reading import MeansWatch
from services.executor.pod_reading import PodReader
from services.executor.settings import ExecutorSettings
from services.executor.verification import due_for_verification
from services.executor.writing import OperationWriter
from services.kube_follow import WatchTransport

__all__ = ["NAME", "Executor", "ExecutorHandler", "run"]


async def run(
    settings: ExecutorSettings,
    bus: Bus,
    clock: Clock,
    origin: Origin,
    transport: Transport,
    *,
    candidate: Candidate | None = None,
    code_version: str = "",
    on_progress: Callable[[str, int], None] | None = None,
) -> None:
    """Execute decisions until cancelled; with a `candidate`, write for real only while it holds the Lease.

    Raises:
        ConfigError: a file in `services/executor/guards/` declares no guard that can be used.
        LeadershipLost: another replica of this stack has taken the Lease over.
    """
    registered_guards()
    on_progress = on_progress or (lambda _state, _seq: None)
    if candidate is None or not settings.needs_lease:
        publisher = Publisher(bus, origin, NAME)
        await _follow_lists(settings, bus, clock, publisher, transport, code_version, on_progress)
        return
    leadership = Leadership(
        transport,
        clock,
        candidate,
        namespace=settings.lease_namespace,
        duration_seconds=settings.lease_seconds,
    )
    if isinstance(transport, GatedTransport):
        transport.gate_writes(leadership.write_seconds)
    if settings.mode is Mode.ACTIVE:
        leadership.want()
    fenced = FencedPublisher(bus, origin, NAME, leadership)
    async with leadership.running() as election:
        await leadership.settled(election, lambda: on_progress("standby", 0))
        work = asyncio.create_task(
            _follow_lists(
                settings, bus, clock, fenced, transport, code_version, on_progress, leadership
            ),
            name=NAME,
        )
        await _until_one_ends(work, election)


async def _until_one_ends(work: asyncio.Task[None], election: asyncio.Task[None]) -> None:
    """Wait for either; the work ends in any case, and the error of the first is raised."""
    try:
        done, _ = await asyncio.wait({work, election}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel_and_wait(work)
    for task in done:
        task.result()


async def _follow_lists(
    settings: ExecutorSettings,
    bus: Bus,
    clock: Clock,
    publisher: Publisher,
    transport: Transport,
    code_version: str,
    on_progress: Callable[[str, int], None],
    leadership: Leadership | None = None,
) -> None:
    # In time lapse the server's time between two answers is not known well enough to date a plan.
    if settings.speed == 1.0 and isinstance(transport, WatchTransport):
        random = Random(f"{publisher.origin.cluster} {NAME}")
        followed = FollowedLists(transport, clock, random)
        async with followed.running():
            await _execute(
                settings, bus, clock, publisher, followed, code_version, on_progress, leadership
            )
    else:  # or the embedded cluster in process, whose lists cost what has changed anyway
        await _execute(
            settings, bus, clock, publisher, transport, code_version, on_progress, leadership
        )


async def _execute(
    settings: ExecutorSettings,
    bus: Bus,
    clock: Clock,
    publisher: Publisher,
    transport: Transport,
    code_version: str,
    on_progress: Callable[[str, int], None],
    leadership: Leadership | None,
) -> None:
    origin = publisher.origin
    await publisher.publish_config(
        config_of(NAME, settings.announcement(), code_version), clock.wall_ns() / 1e9
    )
    if isinstance(publisher, FencedPublisher) and leadership is not None and leadership.wanted:
        await publisher.take_over(0, clock.wall_ns() / 1e9)  # before the log is read to its end

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

    executor = Executor(
        settings,
        publisher,
        transport,
        newest_control,
        newest_cycle,
        leadership=leadership,
        newest_leader=newest_leader(bus, origin.cluster),
    )
    await Follower(
        ExecutorHandler(), bus, clock, publisher, act=executor.act, on_progress=on_progress
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
        *,
        leadership: Leadership | None = None,
        newest_leader: NewestHolder | None = None,
    ) -> None:
        """Execute through `transport`; the log is asked for the newest command, the newest cycle and, with
        `leadership`, for who has last said that it leads, before every single write.
        """
        self._fence = transport = FencedTransport(transport, settings)
        lead_now = None if leadership is None else lead_by_log(leadership, newest_leader)
        writer = OperationWriter(settings, transport, newest_control, newest_cycle, lead_now)
        log = structlog.get_logger(NAME)
        reader = PodReader(transport, settings)
        events = ObjectEvents(transport, log) if settings.object_events else None
        self._context = EffectContext(
            settings, publisher, transport, writer, reader, log, events, leadership
        )
        wanted = leadership is not None and leadership.wanted  # then it was said at the start
        self._said_lead = leadership.lead() if leadership is not None and wanted else None
        self._means = MeansWatch(transport, settings)
        self._left = LeftBehindLook(transport, settings)
        self._attempts = Attempts()
        self._looks = Looks()

    async def act(self, state: Ledger) -> None:
        """Take the first effect that this state asks for, once per part of a decision and process.

        Only one: its event may have waited for the server through an outage, so what follows is
        judged by the state in which that event, and all that came before it, has been read.
        """
        context = self._context
        self._fence.mode = context.mode(state)
        lead = context.lead(state)
        await self._say_lead(state, lead)
        await self._say_means(state)
        await context.pod_reader.follow(state.seen.cycle, state.seen.cluster_time_seconds)
        if lead is not None and not lead.leading:
            return await self._refuse_first(state)
        if await self._say_left_behind(state):
            return None  # what follows is judged with it
        done = await self._carry_out(state) or await self._verify(state)
        if not done and not state.killed:
            await self._roll_back(state)
        return None

    async def _carry_out(self, state: Ledger) -> bool:
        """Complete, execute or settle the first thing that asks for it; say whether there was one."""
        context, attempts = self._context, self._attempts
        for execution in state.executions:
            if execution.phase is ExecutionPhase.STARTED and attempts.begin(
                Effect.EXECUTE, execution.place
            ):
                await resume(context, state, execution)
                return True
        for due in state.due:
            if attempts.begin(Effect.EXECUTE, due.place):
                await execute(context, state, due)
                return True
        for waiting in settled(state):
            if attempts.begin(Effect.SETTLE, waiting.place):
                await settle(context, state, waiting)
                return True
        return False

    async def _verify(self, state: Ledger) -> bool:
        """Verify the first execution that is due and settled; say whether there was one."""
        context, attempts = self._context, self._attempts
        for execution in due_for_verification(state, context.settings.verify_cycles):
            if attempts.begin(Effect.VERIFY, execution.place):
                if await verify(context, self._looks, state, execution):
                    return True
                attempts.allow_retry(Effect.VERIFY, execution.place)
        return False

    async def _roll_back(self, state: Ledger) -> None:
        """Take back the first execution for which there is a cause."""
        context, attempts = self._context, self._attempts
        for execution in rollback_order(context, state):
            cause = rollback_cause(context, state, execution)
            retry = execution.rollbacks_failed
            if cause and attempts.begin(Effect.ROLL_BACK, execution.place, retry):
                if await roll_back(context, state, execution, cause):
                    return
                attempts.allow_retry(Effect.ROLL_BACK, execution.place, retry)

    async def _refuse_first(self, state: Ledger) -> None:
        """Say of the first decision that waits why it is not executed; what was begun waits for whoever leads."""
        for due in state.due:
            if self._attempts.begin(Effect.EXECUTE, due.place):
                return await execute(self._context, state, due)
        return None

    async def _say_lead(self, state: Ledger, lead: Lead | None) -> None:
        """Publish how this executor stands to the Lease, once that has changed since it began."""
        leadership, before = self._context.leadership, self._said_lead
        if lead is None or leadership is None or leadership.lead() is None:
            return
        if before is not None and (before.state, before.text) == (lead.state, lead.text):
            return
        self._said_lead = lead
        seen = state.seen
        await self._context.publish(leadership.mark(seen.cycle, seen.cluster_time_seconds), ())

    async def _say_left_behind(self, state: Ledger) -> bool:
        """Publish what an earlier stack left, once; say whether there was something to tell."""
        context = self._context
        if context.leadership is None:
            return False
        try:
            left = await self._left.look(state, context.mode(state))
        except (ClusterUnavailable, ClusterRefused) as error:
            context.log.warning("what an earlier stack left is not known", error=str(error))
            return False
        if left is None:
            return False
        await context.publish(left, (state.seen.id,))
        context.log.warning("left behind", what=left.text)
        return True

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
