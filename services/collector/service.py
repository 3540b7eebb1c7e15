"""The collector's loop: read, publish the snapshot, interpret it, say what Kubernetes did.

One cycle per interval of wall time; ticks missed while the API server was slow are skipped, never
made up for. A source that fails is named in the events of its cycle. When nothing at all answers,
the cycle is still published, without rows and with every signal missing, at the cluster time that
the newest answer and the wall clock imply; before the first answer there is nothing to say.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

import structlog

from bus.clock import Clock
from bus.errors import Temporary
from bus.events import event_of
from bus.follow import Publisher
from bus.handler_process import config_of
from bus.item_errors import ItemErrors, ends_at_first_error
from bus.port import Bus
from schemas import subjects
from schemas.config import CODE_VERSION
from schemas.envelope import NewEvent
from schemas.identity import Origin
from schemas.model import EventData
from schemas.numbers import rounded
from schemas.observation import ObservedState
from schemas.reaction import Reaction
from schemas.snapshot import NodesState, WorkloadsState
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.cluster_version import is_simulated
from services.collector.assemble import assemble
from services.collector.capabilities import NewestCapabilities
from services.collector.cluster import SERVICES, WATCHED, ListingSources, Lists, read_every_source
from services.collector.collected import (
    NAME,
    OWN_KINDS,
    CollectedCycle,
    CollectorState,
    PublishedKinds,
)
from services.collector.following import FollowedSources, SeparateSources
from services.collector.frames import Frames
from services.collector.history_filling import WorkloadEvents
from services.collector.measuring import MeasuredSources
from services.collector.observe import interpret_snapshot
from services.collector.outages import dated_failures, failing_since
from services.collector.pod_rows import SnapshotLimits
from services.collector.pod_sums import PodSums
from services.collector.prometheus import PrometheusMetrics
from services.collector.reaction import LastTables, find_reactions, update_last_tables
from services.collector.readable_work import count_readable
from services.collector.reading import CycleReads
from services.collector.scalings import autoscaler_states
from services.collector.settings import CollectorSettings
from services.collector.snapshot import Snapshot
from services.collector.unreadable import UnreadableItems
from services.collector.work_ledger import CountedObjects, WorkLedger, WorkRules
from services.kube_follow import WatchTransport

Progress = Callable[[str, int], None]


async def run(
    settings: CollectorSettings,
    bus: Bus,
    clock: Clock,
    origin: Origin,
    transport: Transport,
    *,
    code_version: str = CODE_VERSION,
    on_progress: Progress | None = None,
    on_collected: Callable[[CollectedCycle], None] | None = None,
    errors: ItemErrors | None = None,
) -> None:
    """Publish one cycle per interval until cancelled; `on_collected` is given each before it is published, and an error
    of one source or cycle ends at `errors`.

    Raises:
        AnotherWriter: a second collector writes the same log.
    """
    collector = Collector(settings, bus, clock, origin, transport, code_version=code_version)
    collector.on_collected = on_collected
    errors = errors or ends_at_first_error(NAME)
    metrics = PrometheusMetrics(settings.prometheus) if settings.prometheus.url else None
    collector.lists_from = SeparateSources(ListingSources(transport, metrics), errors)
    progress = on_progress or (lambda _state, _cycle: None)
    await collector.resume()
    progress("live", collector.cycle)
    if settings.speed != 1.0 or not isinstance(transport, WatchTransport):
        # In time lapse a bookmark a minute would be an hour old.
        await _collect(collector, settings, clock, progress, errors)
        return
    simulated = await collector.learn_provenance()
    followed = FollowedSources(
        (*WATCHED, SERVICES) if simulated or metrics is not None else WATCHED,
        transport,
        clock,
        settings,
        Random(f"{origin.cluster} {NAME}"),
        metrics,
        errors,
    )
    collector.lists_from, collector.followed = SeparateSources(followed, errors), followed
    async with followed.running():
        await followed.settle(settings.request_timeout_seconds)
        await _collect(collector, settings, clock, progress, errors)


async def _collect(
    collector: Collector,
    settings: CollectorSettings,
    clock: Clock,
    progress: Progress,
    errors: ItemErrors,
) -> None:
    """Publish one cycle per interval."""
    due = clock.monotonic()
    while True:
        with errors.item("cycle", collector.cycle + 1):
            if await collector.collect_once():
                progress("live", collector.cycle)
        await collector.tell(errors)
        late = max(0.0, clock.monotonic() - due)
        due += settings.interval_seconds * (1 + math.floor(late / settings.interval_seconds))
        await clock.sleep(max(0.0, due - clock.monotonic()))


class Collector:
    """Everything the loop carries from one cycle to the next."""

    def __init__(
        self,
        settings: CollectorSettings,
        bus: Bus,
        clock: Clock,
        origin: Origin,
        transport: Transport,
        *,
        code_version: str = CODE_VERSION,
        kinds: PublishedKinds = OWN_KINDS,
    ) -> None:
        """Collect through `transport`; `resume` must come before the first cycle.

        Raises:
            ConfigError: a file that the settings name cannot be used.
        """
        self._settings = settings
        self._bus = bus
        self._clock = clock
        self._origin = origin
        self._transport = transport
        self._code_version = code_version
        self._kinds = kinds
        self._measuring = MeasuredSources(settings, clock, ask=kinds.reactions)
        self._workloads = WorkloadEvents(settings, tells=kinds.reactions)
        self._means = NewestCapabilities(bus, origin, known=kinds.reactions)
        self.publisher = Publisher(bus, origin, kinds.producer)
        self._log = structlog.get_logger(kinds.producer)
        self._left_out = UnreadableItems(self._log.warning)
        self._announced = False
        self._simulated: bool | None = None
        self._frames = Frames(settings.keyframe_cycles)
        self._failing_since: Mapping[str, float] = {}
        self._seen = LastTables()
        self._newest_answer: tuple[float, float] | None = None
        self._newest_time_seconds = 0.0
        self._work = WorkLedger()
        self._counted = CountedObjects()
        self._pod_sums = PodSums()
        self.cycle = 0
        """Number of the newest cycle."""
        self.on_collected: Callable[[CollectedCycle], None] | None = None
        """Called with each look before it is published."""
        self.lists_from: Lists = ListingSources(transport)
        """Where lists are read from."""
        self.followed: FollowedSources | None = None
        """What follows them; None: each cycle reads them."""

    @property
    def cluster_time_seconds(self) -> float:
        """Cluster time of the newest cycle; 0 before the first."""
        return self._newest_time_seconds

    async def resume(self) -> None:
        """Continue the numbering of the log."""
        await self._workloads.resume(self._bus, self._origin)
        for kind in self._kinds.numbered:
            subject = subjects.build(self._origin.cluster, kind.PATTERN)
            stored = await self._bus.last(subject)
            if stored is not None:
                event = event_of(stored)
                self.cycle = max(self.cycle, event.cycle)
                if isinstance(event.data, NodesState):
                    self._failing_since = failing_since(event.data.sources)
                    self._seen = LastTables(failing=self._failing_since)
                if isinstance(event.data, WorkloadsState) and event.data.work is not None:
                    self._work = WorkLedger(event.data.work, event.data.cluster_time_seconds)
                    self._measuring.requests.resume(event.data)
                if isinstance(event.data, Reaction | ObservedState):
                    at = event.data.cluster_time_seconds
                    self._newest_time_seconds = max(self._newest_time_seconds, at)

    async def collect_once(
        self,
        *,
        cycle: int | None = None,
        causes: tuple[str, ...] = (),
        look: CollectedCycle | None = None,
    ) -> bool:
        """Publish one cycle; False when there was nothing to say or the bus could not take it.

        Args:
            cycle: its number, above that of the newest; None: the next.
            causes: ids of the events because of which it looks.
            look: what another collector saw of the same world, as if this one had seen it.
        """
        snapshot = await self._read_cluster() if look is None else self._take_over(look)
        if snapshot is None:
            return False
        # A number is never used twice: what a failed publish stored under it is not known.
        self.cycle = self.cycle + 1 if cycle is None else cycle
        if self.on_collected is not None:
            self.on_collected(CollectedCycle(self.cycle, snapshot, self._memory()))
        try:
            await self._publish(snapshot, causes)
        except Temporary as error:
            self._log.warning("cycle not published", cycle=self.cycle, error=str(error))
            self._frames.clear()
            return False
        except Exception:
            self._frames.clear()  # what of it was stored is not known
            self._seen = LastTables(failing=self._failing_since)
            raise
        self._seen = update_last_tables(self._seen, snapshot)
        return True

    async def tell(self, errors: ItemErrors) -> None:
        """Publish what failed; see `ItemErrors.tell`."""
        publish, at = self.publisher.publish, self._newest_time_seconds
        await errors.tell(self._bus, self._origin, NAME, publish, self.cycle, at)

    def _memory(self) -> CollectorState:
        return CollectorState(
            self._simulated, self._failing_since, self._newest_answer, self._newest_time_seconds, self._work
        )  # fmt: skip

    def _take_over(self, look: CollectedCycle) -> Snapshot:
        memory = look.memory
        self._simulated = memory.simulated
        self._failing_since = memory.failing_since
        self._newest_answer = memory.newest_answer
        self._newest_time_seconds = memory.newest_time_seconds
        self._work = memory.work
        return look.snapshot

    async def _read_cluster(self) -> Snapshot | None:
        expected = self._expected_time()
        await self.learn_provenance()
        reading, measured, services = await asyncio.gather(
            read_every_source(
                self._transport,
                expected or 0.0,
                simulated=bool(self._simulated),
                lists_from=self.lists_from,
            ),
            self._measuring.read(expected or 0.0),
            self._measuring.services(self.lists_from, expected or 0.0),
        )
        answers = [source.read_time_seconds for source in reading.sources if source.ok]
        for source in reading.sources:
            if not source.ok:
                self._log.warning("source failed", source=source.source, error=source.message)
        if answers:
            if self.followed is not None:  # what watches have brought holds until now
                answers.append(self.followed.cluster_time_seconds or 0.0)
            self._newest_answer = (max(answers), self._clock.monotonic())
        elif expected is None:
            return None
        # To the digit that is recorded: what is computed from it live is then computed from it again.
        at = rounded(max([self._newest_time_seconds, *(answers or [expected or 0.0])]))
        reading = self._measuring.complete(replace(reading, measured=measured), services, at)
        cuts = SnapshotLimits(
            since_seconds=self._seen.pods_seconds or at,
            failed_pod_seconds=self._settings.failed_pod_seconds, listed_pods=self._settings.listed_pods,
        )  # fmt: skip
        self._newest_time_seconds = at
        self._count_work(reading, at)
        await self._workloads.read(self.lists_from, reading, at)
        simulated = bool(self._simulated)
        snapshot = assemble(
            reading, at, cuts, self._work, simulated=simulated, pod_sums=self._pod_sums
        )
        self._left_out.tell(snapshot.sources)
        dated = dated_failures(snapshot, self._failing_since)
        snapshot = replace(snapshot, sources=dated, missing_means=await self._means.missing())
        self._failing_since = failing_since(snapshot.sources)
        return snapshot

    def _count_work(self, reading: CycleReads, time_seconds: float) -> None:
        rules = WorkRules(self._settings.namespaces, self._settings.overdue_seconds)
        try:
            self._work = count_readable(self._work, reading, time_seconds, rules, self._counted)
        except ValueError as error:
            self._log.warning("work not counted", error=" ".join(str(error).split()))

    def _expected_time(self) -> float | None:
        """Return the cluster time that the newest answer and the wall clock imply."""
        if self._newest_answer is None:
            return None
        answered, at = self._newest_answer
        return answered + (self._clock.monotonic() - at) * self._settings.speed

    async def learn_provenance(self) -> bool | None:
        """Return whether the cluster is a simulated one, and remember it; None: it does not say."""
        if self._simulated is None:
            try:
                self._simulated = await is_simulated(self._transport)
            except (ClusterUnavailable, ClusterRefused) as error:
                self._log.warning("version not readable", error=str(error))
        return self._simulated

    async def _publish(self, snapshot: Snapshot, before: tuple[str, ...]) -> None:
        at = snapshot.cluster_time_seconds
        await self._publish_config(at)
        await self.publisher.publish(self._workloads.new_events(self.cycle))
        layer1 = self._snapshot_data(snapshot)
        new_events = [NewEvent(data, self.cycle, at, before) for data in layer1]
        causes = tuple(event.id for event in await self.publisher.publish(new_events))
        observed = interpret_snapshot(snapshot, self._settings)
        observation = self._frames.next(
            self.cycle,
            self._kinds.observation,
            {"nodes": observed.nodes, "pods": observed.pods},
            cluster_time_seconds=at,
            interval_seconds=self._settings.cycle_seconds,
            expected_agents=self._settings.expected_agents,
            namespaces=self._settings.namespaces,
            totals=observed.totals,
            signals=observed.signals,
            work=observed.work,
            services=observed.services,
            occupancy=snapshot.occupancy,
            missing_means=snapshot.missing_means,
        )
        await self.publisher.publish([NewEvent(observation, self.cycle, at, causes)])
        if not self._kinds.reactions:
            return
        listed, omitted = find_reactions(self._seen, snapshot, self._settings.listed_reactions)
        reaction = Reaction(
            cycle=self.cycle, cluster_time_seconds=at, reactions=listed, omitted=omitted
        )
        await self.publisher.publish([NewEvent(reaction, self.cycle, at, causes)])

    def _snapshot_data(self, snapshot: Snapshot) -> tuple[EventData, ...]:
        at = snapshot.cluster_time_seconds
        return (
            self._frames.next(
                self.cycle,
                self._kinds.nodes,
                {"nodes": snapshot.nodes},
                cluster_time_seconds=at,
                simulated=snapshot.simulated,
                sources=snapshot.sources,
                measured=snapshot.measured,
            ),
            self._frames.next(
                self.cycle,
                self._kinds.placements,
                {"placements": snapshot.placements},
                cluster_time_seconds=at,
            ),
            self._frames.next(
                self.cycle,
                self._kinds.workloads,
                {"workloads": snapshot.workloads, "pods": snapshot.pods},
                cluster_time_seconds=at,
                pods_running=snapshot.pods_running,
                pods_total=snapshot.pods_total,
                pods_omitted=snapshot.pods_omitted,
                waiting_omitted=snapshot.waiting_omitted,
                bare_pods_succeeded=snapshot.bare_pods_succeeded,
                autoscalers=autoscaler_states(snapshot.autoscalers),
                work=snapshot.work,
                occupancy=snapshot.occupancy,
                missing_means=snapshot.missing_means,
            ),
        )

    async def _publish_config(self, time_seconds: float) -> None:
        if self._announced:
            return
        config = config_of(self._kinds.producer, self._settings.announcement(), self._code_version)
        await self.publisher.publish_config(config, time_seconds)
        self._announced = True
