"""The shell: follow the observations, change phase every so many cycles, always clean up.

A phase is skipped, with the reason, when it could not bring about what it intends on the cluster as
it is, and the next one is tried at once; after a whole round of skipped phases it waits. What an
earlier run left on the cluster is removed before the first phase.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

import structlog

from bus.clock import Clock
from bus.errors import Temporary
from bus.follow import Follower, Publisher
from bus.handler_process import config_of
from bus.item_errors import ItemErrors
from bus.port import Bus
from schemas.config import CODE_VERSION
from schemas.envelope import Event, NewEvent
from schemas.identity import Origin
from schemas.observation import Observation
from schemas.reasons import Reason
from schemas.stimulus import Stimulus
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.exerciser.cluster import (
    NAMESPACE,
    create_load,
    read_load,
    remove_all,
    remove_stranded,
)
from services.exerciser.phases import PHASES, Phase, phase_shares
from services.exerciser.plan import LoadPlan, plan_phase
from services.exerciser.settings import ExerciserSettings
from services.exerciser.state import ExerciserState, evolve

NAME = "exerciser"
Status = Literal["applied", "skipped", "cleaned_up", "failed"]


class ExerciserHandler:
    """The pure part; everything that is said depends on the cluster, so `decide` owes nothing."""

    name = NAME
    reads = (Observation.PATTERN, Stimulus.PATTERN)
    state_version = 1
    deadline_seconds = None

    def initial(self) -> ExerciserState:
        """Return the state before any event."""
        return ExerciserState()

    def evolve(self, state: ExerciserState, event: Event[Any]) -> ExerciserState:
        """Return the state after one stored event."""
        return evolve(state, event)

    def decide(self, state: ExerciserState, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return nothing."""
        del state, overdue
        return ()

    def open_cycle(self, state: ExerciserState) -> int | None:
        """No cycle waits for the exerciser."""
        del state
        return None


async def run(
    settings: ExerciserSettings,
    bus: Bus,
    clock: Clock,
    origin: Origin,
    transport: Transport,
    *,
    code_version: str = CODE_VERSION,
    on_progress: Callable[[str, int], None] | None = None,
    errors: ItemErrors | None = None,
) -> None:
    """Go through the phases until cancelled, then remove the load."""
    publisher = Publisher(bus, origin, NAME)
    exerciser = Exerciser(settings, publisher, transport, code_version)
    follower = Follower(
        ExerciserHandler(),
        bus,
        clock,
        publisher,
        act=exerciser.act,
        on_progress=on_progress,
        errors=errors,
    )
    try:
        await follower.run()
    finally:
        await exerciser.stop(follower.state)


class Exerciser:
    """Applies phases and says so."""

    def __init__(
        self,
        settings: ExerciserSettings,
        publisher: Publisher,
        transport: Transport,
        code_version: str = CODE_VERSION,
    ) -> None:
        """Exercise through `transport`."""
        self._settings = settings
        self._publisher = publisher
        self._transport = transport
        self._code_version = code_version
        self._log = structlog.get_logger(NAME)
        self._tidied = False
        self._announced = False
        self._acted_cycle = 0

    async def act(self, state: ExerciserState) -> None:
        """Do what is due in this state; at most once per cycle."""
        if state.cycle <= self._acted_cycle:
            return
        self._acted_cycle = state.cycle
        try:
            await self._act(state)
        except (ClusterUnavailable, ClusterRefused) as error:
            self._log.warning("cluster did not let us exercise", error=str(error))

    async def stop(self, state: ExerciserState) -> None:
        """Remove the load, and say so if the log can still be reached."""
        try:
            await remove_all(self._transport)
        except (ClusterUnavailable, ClusterRefused) as error:
            self._log.error("load not removed", namespace=NAMESPACE, error=str(error))
            return
        if state.on:
            with suppress(Temporary):
                await self._publish_cleaned_up(state)

    async def _act(self, state: ExerciserState) -> None:
        await self._publish_config(state.cluster_time_seconds)
        if not self._tidied:
            left = await remove_all(self._transport)
            if left:
                self._log.info("removed what an earlier run left", deployments=left)
            if state.on:
                await self._publish_cleaned_up(state)
            self._tidied = True
        elif state.is_over(self._settings.phase_cycles):
            await remove_all(self._transport)
            await self._publish_cleaned_up(state)
        elif state.on:
            stranded = await remove_stranded(self._transport)
            if stranded:
                self._log.info("removed load whose node is gone", deployments=stranded)
        if state.due(self._settings.phase_cycles, self._settings.rounds):
            await self._next_phase(state)

    async def _next_phase(self, state: ExerciserState) -> None:
        load = await read_load(self._transport)
        sequence, index = state.sequence, state.next_phase
        for _ in PHASES:
            sequence += 1
            phase = PHASES[index]
            plan = plan_phase(phase, load.nodes, load.waiting_pods, self._settings)
            if plan.reason is None:
                await self._apply(state, sequence, phase, plan, load.hostnames)
                return
            await self._publish_stimulus(state, sequence, phase, "skipped", plan)
            if self._settings.rounds and sequence >= self._settings.rounds * len(PHASES):
                return
            index = (index + 1) % len(PHASES)

    async def _apply(
        self,
        state: ExerciserState,
        sequence: int,
        phase: Phase,
        plan: LoadPlan,
        hostnames: Any,
    ) -> None:
        try:
            await create_load(self._transport, plan.loads, self._settings.image, hostnames)
        except (ClusterUnavailable, ClusterRefused) as error:
            await remove_all(self._transport)
            failed = LoadPlan((), str(error)[:300], _failure_reason(error))
            await self._publish_stimulus(state, sequence, phase, "failed", failed)
            return
        await self._publish_stimulus(state, sequence, phase, "applied", plan)

    async def _publish_cleaned_up(self, state: ExerciserState) -> None:
        plan = LoadPlan((), "the phase's load was removed")
        await self._publish_stimulus(state, state.sequence, PHASES[state.phase], "cleaned_up", plan)

    async def _publish_stimulus(
        self, state: ExerciserState, sequence: int, phase: Phase, status: Status, plan: LoadPlan
    ) -> None:
        data = stimulus_event(state, sequence, phase, status, plan, self._settings)
        self._log.info("phase", phase=phase.name, status=status, text=plan.text)
        causes = (state.observation_id,) if state.observation_id else ()
        at = state.cluster_time_seconds
        await self._publisher.publish([NewEvent(data, state.cycle, at, causes)])

    async def _publish_config(self, time_seconds: float) -> None:
        if self._announced:
            return
        config = config_of(NAME, self._settings.announcement(), self._code_version)
        await self._publisher.publish_config(config, time_seconds)
        self._announced = True


def stimulus_event(
    state: ExerciserState,
    sequence: int,
    phase: Phase,
    status: Status,
    plan: LoadPlan,
    settings: ExerciserSettings,
) -> Stimulus:
    """Return the event that says what was done for a phase."""
    shares = phase_shares(phase, randomise=settings.randomise, seed=settings.seed)
    first = plan.loads[0] if plan.loads else None
    return Stimulus(
        cycle=state.cycle,
        cluster_time_seconds=state.cluster_time_seconds,
        sequence=sequence,
        status=status,
        phase=phase.index,
        name=phase.name,
        intended_agent=phase.agent,
        intended_kind=phase.kind,
        intended_rule=phase.rule.value,
        namespace=NAMESPACE,
        deployment=first.name if first else "",
        cpu_request_ratio=shares.cpu_ratio if shares else None,
        memory_request_ratio=shares.memory_ratio if shares else None,
        cpu_request_millicores=first.cpu_millicores if first else None,
        memory_request_bytes=first.memory_bytes if first else None,
        replicas=sum(load.replicas for load in plan.loads),
        unschedulable=phase.spread == "unschedulable",
        randomised=settings.randomise,
        reason=plan.reason,
        text=plan.text,
    )


def _failure_reason(error: ClusterUnavailable | ClusterRefused) -> Reason:
    if isinstance(error, ClusterUnavailable):
        return Reason.API_UNREACHABLE
    reasons = {401: Reason.UNAUTHENTICATED, 403: Reason.FORBIDDEN}
    return reasons.get(error.status, Reason.API_ERROR)
