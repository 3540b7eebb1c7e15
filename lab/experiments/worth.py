"""What a stretch of a simulated cluster's time is worth, from the twin's truth, at the outcome score's prices.

For those who try what would come of something: it costs a tenth of collecting observations. It reads the
cluster once a minute, so waiting and machines are those of that minute; the score itself stays the scoreboard's.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.experiments.served import ServedRequests
from projections.score.money import unit_prices
from projections.score.prices import ScorePrices
from twin.port.engine import Change, Engine
from twin.port.objects import NodeRecord, PodRecord, is_daemon

LOOK_SECONDS = 60.0
OVERDUE_SECONDS = 300.0
"""The collector's default, from which on waiting costs more."""
_HOUR, _MILLION, _JOULES = 3_600.0, 1e6, 3.6e6


@dataclass(slots=True)
class PeriodCounts:
    """Counts over a stretch of time."""

    amounts: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """In the units of the outcome score's components; some of them are whole."""
    used_nodes: set[str] = field(default_factory=set)
    """Nodes that had a pod which is nobody's daemon."""
    most_requests: dict[str, float] = field(default_factory=dict)
    """By Service, the most requests per second that came in a minute."""

    def money(self, prices: ScorePrices, energy_price: float) -> float:
        """Return benefit minus cost."""
        price_of = unit_prices(prices, energy_price)
        return math.fsum(price_of[name] * amount for name, amount in sorted(self.amounts.items()))


def play(engine: Engine, seconds: float) -> PeriodCounts:
    """Let so many seconds pass in an engine, and return what happened."""
    return _Player(engine).play(seconds)


class _Player:
    """Watches one engine while it plays."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stretch = PeriodCounts()
        self._served = ServedRequests()
        self._served.look(engine.serving.accounts(), 0.0)
        self._served.reset()
        self._requests = self._request_sums()
        self._arrived = self._arrivals()
        self._work = dict(engine.job_work.cpu_seconds)
        engine.store.subscribe(self._follow)

    def play(self, seconds: float) -> PeriodCounts:
        engine, stretch = self._engine, self._stretch
        for pod in engine.store.records("pods"):
            self._note_node(pod)
        end = engine.now + seconds
        while engine.now < end:
            before = engine.now
            self._add_levels(min(LOOK_SECONDS, end - before))
            engine.advance(min(end, before + LOOK_SECONDS))
            self._add_requests(engine.now - before)
        work, amounts = engine.job_work.cpu_seconds, stretch.amounts
        risen = {name: work[name] - self._work[name] for name in work}
        amounts["job_cpu_done"] = (risen["in time"] + risen["late"]) / _HOUR
        amounts["job_cpu_lost"] = risen["lost"] / _HOUR
        amounts["slo_services"] = self._served.slo_seconds / 60.0
        for name, total in self._request_sums().items():
            amounts[name] = (total - self._requests[name]) / _MILLION
        return stretch

    def _follow(self, change: Change) -> None:
        record, before = change.record, change.before
        if not isinstance(record, PodRecord):
            return
        self._note_node(record)
        if isinstance(before, PodRecord):
            amounts = self._stretch.amounts
            amounts["restarts"] += max(0, record.restart_count - before.restart_count)
            amounts["evictions"] += bool(record.disruption and not before.disruption)

    def _note_node(self, pod: object) -> None:
        assert isinstance(pod, PodRecord)
        if pod.node_name and not pod.terminal and not is_daemon(pod):
            self._stretch.used_nodes.add(pod.node_name)

    def _add_levels(self, seconds: float) -> None:
        """Add machines, power and waiting as they are now, for so many seconds."""
        engine, amounts = self._engine, self._stretch.amounts
        hours = seconds / _HOUR
        for node in engine.store.records("nodes"):
            assert isinstance(node, NodeRecord)
            row = engine.nodes.row_of[node.name]
            amounts["energy"] += engine.power_watts(node.name) * seconds / _JOULES
            amounts["cores"] += float(engine.nodes.offered[0, row]) / 1_000.0 * hours
            amounts["memory"] += float(engine.nodes.offered[1, row]) / 2**30 * hours
        for pod in engine.store.records("pods"):
            assert isinstance(pod, PodRecord)
            if pod.phase == "Pending":
                amounts["waiting"] += hours
                amounts["overdue"] += hours * (engine.now - pod.created_at > OVERDUE_SECONDS)

    def _add_requests(self, seconds: float) -> None:
        self._served.look(self._engine.serving.accounts(), seconds)
        most, arrived = self._stretch.most_requests, self._arrivals()
        for name, total in arrived.items():
            rate = (total - self._arrived.get(name, 0.0)) / seconds
            most[name] = max(most.get(name, 0.0), rate)
        self._arrived = arrived

    def _arrivals(self) -> Mapping[str, float]:
        accounts = self._engine.serving.accounts()
        return {name: account.arrived for name, account in accounts.items()}

    def _request_sums(self) -> Mapping[str, float]:
        accounts = self._engine.serving.accounts().values()
        return {
            "requests_served": math.fsum(account.served for account in accounts),
            "requests_failed": math.fsum(one.timed_out + one.refused for one in accounts),
            "requests_lost": math.fsum(account.lost for account in accounts),
        }
