"""Plays a comparison: watches both clusters at the same moments, and gives both the same load at the same moment.

Each cluster has a log of its own, as any cluster that Foresail watches: snapshots, observations and reactions from a
collector, and the stimuli. Nothing else is written, and nothing outside the one namespace that was named. Whatever
happens, the load is taken away in the end.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bus.clock import Clock
from bus.errors import Permanent
from bus.follow import Publisher
from bus.handler_process import config_of
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.recording import RecordingWriter
from lab.live.history import HEADER, SUFFIX, header_of
from lab.live.loads import digest_of, mirrored_plan
from schemas.config import CODE_VERSION
from schemas.envelope import NewEvent
from schemas.identity import Origin
from schemas.stimulus import Stimulus
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.collector.service import Collector
from services.collector.settings import CollectorSettings
from services.exerciser.cluster import ClusterLoad, create_load, read_load, remove_all
from services.exerciser.phases import PHASES, Phase
from services.exerciser.plan import LoadPlan
from services.exerciser.service import NAME as EXERCISER
from services.exerciser.service import Status, stimulus_event
from services.exerciser.settings import ExerciserSettings
from services.exerciser.state import ExerciserState

INCARNATION = "live"
KEPT_MESSAGES = 2_000
REMOVE_TRIES = 3
REMOVE_WAIT_SECONDS = 2.0


class LoadLeft(Permanent):
    """Load could not be taken away; says where."""


@dataclass(frozen=True, slots=True)
class LivePlan:
    """The plan of a play."""

    namespace: str
    """The one namespace that is written in."""
    phases: tuple[int, ...] = tuple(phase.index for phase in PHASES)
    rounds: int = 1
    hold_seconds: float = 60.0
    """Wall seconds for which a phase's load stays."""
    rest_seconds: float = 30.0
    """Wall seconds before the first phase, and behind each."""
    poll_seconds: float = 5.0
    """Wall seconds from one look to the next."""
    exerciser: ExerciserSettings = field(default_factory=ExerciserSettings)
    """Image, seed, and whether sizes are drawn."""


@dataclass(slots=True)
class ComparedCluster:
    """One cluster of the comparison."""

    name: str
    transport: Transport
    log: MemoryLog
    collector: Collector
    stimuli: Publisher
    writer: RecordingWriter
    written: int = 0
    """Position of the newest message in the file."""

    def keep(self) -> None:
        """Move what the log has got into the file."""
        for message in self.log.messages[max(0, self.written + 1 - self.log.first_seq) :]:
            self.writer.write(message)
        self.written = self.log.last_seq
        self.writer.flush()


def open_side(
    number: int,
    name: str,
    transport: Transport,
    folder: Path,
    plan: LivePlan,
    clock: Clock,
    control_plane: Sequence[str],
) -> ComparedCluster:
    """Return a cluster with a log and a file of its own in `folder`.

    Raises:
        InputError: the file exists, or cannot be made.
    """
    origin = Origin(name, INCARNATION)
    log = MemoryLog(wall_ns=clock.wall_ns, keep_messages=KEPT_MESSAGES)
    bus = MemoryBus(log, name)
    settings = CollectorSettings(interval_seconds=plan.poll_seconds)
    header = {
        "cluster": name,
        "incarnation": INCARNATION,
        "code_version": CODE_VERSION,
        "settings": {"collector": settings.announcement()},
        HEADER: header_of(name, control_plane, plan.namespace),
    }
    return ComparedCluster(
        name,
        transport,
        log,
        Collector(settings, bus, clock, origin, transport),
        Publisher(bus, origin, EXERCISER),
        RecordingWriter(folder / f"{number}-{name}{SUFFIX}", header),
    )


class LiveStage:
    """Plays one comparison over two clusters."""

    def __init__(
        self,
        plan: LivePlan,
        sides: tuple[ComparedCluster, ComparedCluster],
        clock: Clock,
        on_step: Callable[[str, int, int], None] = lambda _text, _done, _of: None,
    ) -> None:
        """Play `plan`; `on_step` is told what is on, how many stimuli are over, and of how many."""
        self._plan = plan
        self._sides = sides
        self._clock = clock
        self._on_step = on_step
        self._due = 0.0
        self._sequence = 0
        self.applied = 0
        """Stimuli that both clusters got."""

    async def run(self) -> None:
        """Play every phase of every round; ends with both namespaces empty and both files sealed.

        Raises:
            LoadLeft: some load could not be taken away.
            ClusterUnavailable, ClusterRefused: a cluster could not be read before anything was written.
        """
        try:
            await self._play()
        finally:
            try:
                await self._clear()
            finally:
                for side in self._sides:
                    side.keep()
                    side.writer.seal()

    async def _play(self) -> None:
        plan = self._plan
        for side in self._sides:
            config = config_of(EXERCISER, plan.exerciser.announcement(), CODE_VERSION)
            await side.stimuli.publish_config(config, self._clock.wall_ns() / 1e9)
        phases = [PHASES[index] for index in plan.phases] * plan.rounds
        # What an earlier run left behind would be taken for the load of the first stimulus.
        await self._clear()
        self._due = self._clock.monotonic()
        self._on_step("at rest", 0, len(phases))
        await self._look_for(plan.rest_seconds)
        for place, phase in enumerate(phases):
            self._sequence += 1
            self._on_step(phase.name, place, len(phases))
            status = await self._begin(phase)
            if status == "applied":
                await self._look_for(plan.hold_seconds)
                await self._clear()
                await self._publish(phase, "cleaned_up", LoadPlan((), "the load was removed"))
            if status != "skipped":
                self._on_step("at rest", place + 1, len(phases))
                await self._look_for(plan.rest_seconds)

    async def _begin(self, phase: Phase) -> Status:
        """Apply a phase to both clusters at once, or to neither; return what came of it."""
        try:
            loads = await self._read_loads()
        except (ClusterUnavailable, ClusterRefused) as error:
            failed = LoadPlan((), f"a cluster could not be read: {error}"[:300])
            await self._publish(phase, "failed", failed)
            return "failed"
        nodes = {name: load.nodes for name, load in loads.items()}
        plan = mirrored_plan(phase, nodes, self._plan.exerciser)
        if plan.reason is not None:
            await self._publish(phase, "skipped", plan)
            return "skipped"
        began = self._clock.monotonic()
        answers = await asyncio.gather(
            *(self._apply(side, phase, plan, loads[side.name], began) for side in self._sides),
            return_exceptions=True,
        )
        problems = []
        for side, answer in zip(self._sides, answers, strict=True):
            if isinstance(answer, ClusterUnavailable | ClusterRefused):
                problems.append(f"{side.name}: {answer}")
            elif answer is not None:
                raise answer
        if problems:
            await self._clear()
            failed = LoadPlan((), f"removed from both, since {'; '.join(problems)}"[:300])
            await self._publish(phase, "failed", failed)
            return "failed"
        self.applied += 1
        return "applied"

    async def _read_loads(self) -> Mapping[str, ClusterLoad]:
        loads = await asyncio.gather(
            *(read_load(side.transport, self._plan.namespace) for side in self._sides)
        )
        return dict(zip((side.name for side in self._sides), loads, strict=True))

    async def _apply(
        self, side: ComparedCluster, phase: Phase, plan: LoadPlan, load: ClusterLoad, began: float
    ) -> None:
        """Write a cluster's load and say so in its log at once, so that the two logs' times tell how far apart."""
        image, namespace = self._plan.exerciser.image, self._plan.namespace
        await create_load(side.transport, plan.loads, image, load.hostnames, namespace)
        seconds = self._clock.monotonic() - began
        text = f"{plan.text}; load {digest_of(plan.loads)}, written within {seconds:.3f} s"
        await self._publish_at(side, phase, "applied", LoadPlan(plan.loads, text))

    async def _clear(self) -> None:
        """Take the load away from both clusters, trying again where one does not answer.

        Raises:
            LoadLeft: it is still there.
        """
        answers = await asyncio.gather(*(self._clear_side(side) for side in self._sides))
        left = [text for text in answers if text]
        if left:
            raise LoadLeft("; ".join(left))

    async def _clear_side(self, side: ComparedCluster) -> str:
        """Return why a cluster's load is still there; empty when it is gone."""
        problem = ""
        for attempt in range(REMOVE_TRIES):
            if attempt:
                await self._clock.sleep(REMOVE_WAIT_SECONDS)
            try:
                await remove_all(side.transport, self._plan.namespace)
            except (ClusterUnavailable, ClusterRefused) as error:
                problem = f"{side.name}, namespace {self._plan.namespace}: {error}"
            else:
                return ""
        return problem

    async def _look_for(self, seconds: float) -> None:
        """Look at both clusters at the same moments for so long; ticks that a slow answer made us miss are skipped."""
        end = self._clock.monotonic() + seconds
        while True:
            await asyncio.gather(*(side.collector.collect_once() for side in self._sides))
            for side in self._sides:
                side.keep()
            now, step = self._clock.monotonic(), self._plan.poll_seconds
            self._due += step * (1 + math.floor(max(0.0, now - self._due) / step))
            if self._due >= end:
                await self._clock.sleep(max(0.0, end - now))
                return
            await self._clock.sleep(self._due - now)

    async def _publish(self, phase: Phase, status: Status, plan: LoadPlan) -> None:
        await asyncio.gather(*(self._publish_at(side, phase, status, plan) for side in self._sides))

    async def _publish_at(
        self, side: ComparedCluster, phase: Phase, status: Status, plan: LoadPlan
    ) -> None:
        cycle, at = side.collector.cycle, side.collector.cluster_time_seconds
        state = ExerciserState(cycle=cycle, cluster_time_seconds=at)
        data: Stimulus = stimulus_event(
            state, self._sequence, phase, status, plan, self._plan.exerciser
        ).model_copy(update={"namespace": self._plan.namespace})
        await side.stimuli.publish([NewEvent(data, cycle, at, ())])
        side.keep()
