"""A policy beside one queue: each look, choice and score goes to a log, and to Kueue where the policy acts."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

from lab.learning.comparison.learned_rule import ExportedRule
from lab.queue.acting import bring, hand_back, held_elsewhere, writes_for
from lab.queue.capacity import cluster_queue_of, offered, quota_left
from lab.queue.deciding import Asked, choices_of
from lab.queue.reading import read_queues
from lab.queue.samples import QueueLedger, take_sample
from lab.queue.scoring import score_of
from lab.queue.sinks import Sink
from schemas.model import EventData
from schemas.queue import QueueChoice, QueueMeans, QueuePolicy
from services.cluster import Transport
from services.learned_policy.file import policy_bytes

SCORE_SECONDS = 300.0
"""Of the cluster's time, from one score to the next."""


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """Where Jobs wait."""

    transport: Transport
    version: str
    """Of Kueue's API."""
    namespace: str
    local_queue: str
    """Whose ClusterQueue's quota is handed out."""


@dataclass(slots=True)
class QueueDecider:
    """Looks, chooses, logs, and acts where the policy may."""

    rule: ExportedRule
    place: QueuePlace
    sink: Sink
    means: QueueMeans | None
    """By which it acts; None: in shadow."""
    _ledger: QueueLedger = field(default_factory=QueueLedger)
    _scored: float | None = None

    async def decide(self) -> list[QueueChoice]:
        """Look, choose, log, and act; raises as `read_queues`, the sink, and `bring` do."""
        place = self.place
        reads = await read_queues(place.transport, place.version, (place.namespace,))
        ledger, sample = take_sample(self._ledger, reads)
        where = place.transport, place.version, place.namespace, place.local_queue
        queue, nodes = await cluster_queue_of(*where), await offered(place.transport)
        rows = ledger.jobs.values()
        quota = quota_left(queue, rows, nodes)
        now, number = reads.time_seconds, sample.state.look
        asked = Asked(number, now, quota, self.means, held_elsewhere(reads.workloads))
        choices = choices_of(self.rule, rows, asked)
        events: list[EventData] = [*sample.events(), *choices]
        if self._ledger.looks == 0:
            events.insert(0, self._announcement(now))
        if self._scored is None or now >= self._scored + SCORE_SECONDS:
            score = score_of(self.rule, rows, asked)
            events += [] if score is None else [score]
            self._scored = now
        await self.sink.take(events, now)
        self._ledger = ledger
        if self.means is not None:
            cluster = reads.workloads, place.namespace, place.version
            await bring(place.transport, writes_for(self.means, choices, *cluster))
        return choices

    async def end(self) -> None:
        """Give back what was held or put first; Kueue goes on alone."""
        if self.means in {"active", "priority"}:
            place = self.place
            reads = await read_queues(place.transport, place.version, (place.namespace,))
            await bring(place.transport, hand_back(reads.workloads, place.namespace, place.version))

    def _announcement(self, now: float) -> QueuePolicy:
        card = self.rule.policy.card
        return QueuePolicy(
            cluster_time_seconds=now,
            name=card.name,
            weights_sha256=card.weights_sha256,
            means=self.means,
            why_not=card.why_not(),
            file_base64=base64.b64encode(policy_bytes(self.rule.policy)).decode(),
        )
