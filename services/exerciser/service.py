"""The shell: follow the observations, change phase once what it intends has happened, always clean up.

A phase goes through the whole chain: its load is created, the intended action decided, executed and verified, then
taken back by the executor, which reads so in a stimulus, and only then does the load go. A phase is skipped, with the
reason, when it could not bring about what it intends on the cluster as it is, and the next one is tried at once; after
a whole round of skipped phases it waits. What an earlier run left on the cluster is removed before the first phase.
"""

from __future__ import annotations

from collections import Counter
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
from schemas.decision import Decision
from schemas.envelope import Event, NewEvent
from schemas.identity import Origin
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution, OutcomeVerification
from schemas.reasons import Reason
from schemas.stimulus import Stimulus
from schemas.wording import count_text
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.exerciser.cluster import (
    MARKS,
    SLOT_VALUE,
    create_load,
    read_load,
    remove_all,
    remove_stranded,
    rollout_text,
)
from services.exerciser.phases import PHASES, Phase, phase_shares
from services.exerciser.plan import LoadPlan, plan_phase
from services.exerciser.settings import ExerciserSettings
from services.exerciser.state import ExerciserState, evolve

NAME = "exerciser"
Status = Literal["applied", "giving_back", "skipped", "cleaned_up", "failed"]


class ExerciserHandler:
    """The pure part; everything that is said depends on the cluster, so `decide` owes nothing."""

    name = NAME
    reads = (
        Observation.PATTERN,
        Stimulus.PATTERN,
        Decision.PATTERN,
        OutcomeExecution.PATTERN,
        OutcomeVerification.PATTERN,
    )
    state_version = 2
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
        self._place = settings.namespace, MARKS[settings.marks]
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
            await remove_all(self._transport, *self._place)
        except (ClusterUnavailable, ClusterRefused) as error:
            self._log.error("load not removed", namespace=self._place[0], error=str(error))
            return
        if state.on:
            with suppress(Temporary):
                await self._publish_cleaned_up(state)

    async def _act(self, state: ExerciserState) -> None:
        await self._publish_config(state.cluster_time_seconds)
        if not self._tidied:
            left = await remove_all(self._transport, *self._place)
            if left:
                self._log.info("removed what an earlier run left", objects=left)
            if state.on:
                await self._publish_cleaned_up(state)
            self._tidied = True
        elif state.is_over(self._settings):
            if state.wants_back(self._settings):
                if state.gives_back_since is None:
                    text = "the executor takes back what it did for this phase"
                    await self._publish_phase(state, "giving_back", text)
                return
            rollout = await rollout_text(self._transport, *self._place)
            await remove_all(self._transport, *self._place)
            await self._publish_cleaned_up(state, rollout)
        elif state.on:
            stranded = await remove_stranded(self._transport, *self._place)
            if stranded:
                self._log.info("removed load whose node is gone", deployments=stranded)
            return
        if state.due(self._settings):
            await self._next_phase(state)

    async def _next_phase(self, state: ExerciserState) -> None:
        load = await read_load(self._transport, self._place[0])
        sequence, index = state.sequence, state.next_phase
        for _ in PHASES:
            sequence += 1
            phase = PHASES[index]
            plan = plan_phase(phase, load.nodes, load.waiting_pods, self._settings, sequence)
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
        image = self._settings.image
        try:
            await create_load(self._transport, plan.loads, image, hostnames, *self._place)
        except (ClusterUnavailable, ClusterRefused) as error:
            await remove_all(self._transport, *self._place)
            failed = LoadPlan((), str(error)[:300], _failure_reason(error))
            await self._publish_stimulus(state, sequence, phase, "failed", failed)
            return
        await self._publish_stimulus(state, sequence, phase, "applied", plan)

    async def _publish_cleaned_up(self, state: ExerciserState, rollout: str = "") -> None:
        text = f"the phase's load was removed; {became_text(state)}"
        await self._publish_phase(state, "cleaned_up", text, rollout)

    async def _publish_phase(
        self, state: ExerciserState, status: Status, text: str, rollout: str = ""
    ) -> None:
        """Say how far the newest phase is."""
        plan, phase = LoadPlan((), text), PHASES[state.phase]
        await self._publish_stimulus(state, state.sequence, phase, status, plan, rollout)

    async def _publish_stimulus(
        self,
        state: ExerciserState,
        sequence: int,
        phase: Phase,
        status: Status,
        plan: LoadPlan,
        rollout: str = "",
    ) -> None:
        data = stimulus_event(state, sequence, phase, status, plan, self._settings)
        data = data.model_copy(update={"rollout": rollout})
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
    of_phase = status in {"giving_back", "cleaned_up"}
    waits = phase.spread == "unschedulable"
    since, until = _cycles_undone(state, status, plan, settings)
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
        namespace=settings.namespace,
        deployment=first.name if first else "",
        cpu_request_ratio=shares.cpu_ratio if shares else None,
        memory_request_ratio=shares.memory_ratio if shares else None,
        cpu_request_millicores=first.cpu_millicores if first else None,
        memory_request_bytes=first.memory_bytes if first else None,
        replicas=sum(load.replicas for load in plan.loads),
        unschedulable=waits,
        randomised=settings.randomise,
        reason=plan.reason,
        text=plan.text,
        since_cycle=since,
        until_cycle=until,
        intended_admission=phase.admission,
        node_selector=f"{MARKS[settings.marks].slot}={SLOT_VALUE}" if waits and first else "",
        operation=_operation_text(plan),
        decided=state.decided if of_phase else 0,
        executed=len(state.intended) if of_phase else 0,
        verified=sum(one.verified for one in state.intended) if of_phase else 0,
        given_back=sum(one.given_back for one in state.intended) if of_phase else 0,
    )


def _cycles_undone(
    state: ExerciserState, status: Status, plan: LoadPlan, settings: ExerciserSettings
) -> tuple[int, int] | tuple[None, None]:
    """Return the first and last cycle of whose decisions nothing is to remain; None where the executor is not asked.

    A load's pods may still start at the next observation, and count as unhealthy by the baseline's rules; and a
    controller takes seconds to create a hundred that wait. What is decided while a load is removed would stand in
    the next one's way: a node that sleeps takes none of it.
    """
    if not settings.gives_back:
        return None, None
    match status:
        case "applied":
            return state.cycle, state.cycle + bool(plan.loads)
        case "giving_back":
            return state.since_cycle, state.cycle + settings.patience
        case "cleaned_up":
            return state.since_cycle, state.cycle
        case _:
            return None, None


def became_text(state: ExerciserState) -> str:
    """Return in words what became of the action that the newest phase intends."""
    intended = state.intended
    verified = sum(one.verified for one in intended)
    given_back = sum(one.given_back for one in intended)
    return (
        f"{PHASES[state.phase].intention} was decided {state.decided} times, executed "
        f"{len(intended)}, verified {verified}, given back {given_back}"
    )


def _operation_text(plan: LoadPlan) -> str:
    """Return which objects a plan creates; empty for none."""
    kinds = Counter(load.kind for load in plan.loads)
    return (
        f"create {' and '.join(count_text(kinds[kind], kind) for kind in kinds)}" if kinds else ""
    )


def _failure_reason(error: ClusterUnavailable | ClusterRefused) -> Reason:
    if isinstance(error, ClusterUnavailable):
        return Reason.API_UNREACHABLE
    reasons = {401: Reason.UNAUTHENTICATED, 403: Reason.FORBIDDEN}
    return reasons.get(error.status, Reason.API_ERROR)
