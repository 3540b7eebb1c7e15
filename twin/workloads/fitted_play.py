"""Play a fitted model: nodes, the carried-in set, then arrivals without end.

Guarantee: the same model, node count and seed give the same workload, arrival by arrival.
Arrivals come in batches (pods of one submission are alike and arrive together), as a Poisson
process whose rate changes by the hour; a batch is thinned to the cluster's share of the trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from random import Random

from twin.workloads.arrival import UsageWindow, WorkloadArrival
from twin.workloads.model import (
    HOURS_PER_DAY,
    Ending,
    FittedModel,
    Outcome,
    RequestRow,
    WorkClass,
)
from twin.workloads.node_mix import allot, sample_nodes
from twin.workloads.quantiles import WeightedTable, at_rank
from twin.workloads.workload import CARRIED_IN_SECONDS, Workload, carried_in_time

SECONDS_PER_HOUR = 3600.0


def play_fitted(model: FittedModel, *, nodes: int, seed: int) -> Workload:
    """Open `model` at `nodes` nodes; the load ratio is that of its reference cluster."""
    share = nodes / model.reference_nodes
    machines = sample_nodes(model.nodes, nodes, Random(f"{seed}/nodes"), model.name)
    rate = model.arrivals_per_hour[model.start_hour] * share
    return Workload(
        nodes=machines,
        arrivals=_Player(model, share, seed).arrivals(),
        description=_describe(model, nodes, share, rate, seed),
        arrivals_per_hour=rate,
    )


def _describe(model: FittedModel, nodes: int, share: float, rate: float, seed: int) -> list[str]:
    carried_in = round(model.carried_in * share)
    return [
        f"workload {model.name}: fitted model, seed {seed}, no trace file is read",
        f"{nodes} nodes in the trace's mix of {len(model.nodes)} machine shapes",
        model.reference_note,
        (
            f"sampled: {nodes} nodes get {share:.4f} of what {model.reference_nodes} nodes carry "
            "(machines by largest remainder, running pods by even steps through their sizes, "
            "submissions thinned), so requests over capacity stay the same"
        ),
        (
            f"{carried_in} pods already run at the start, then {rate:.1f} arrivals per hour "
            "in the first hour, following the hour of day after that"
        ),
        f"usage: {model.usage.source}",
        *(f"figures from {entry.attribution} ({entry.licence})" for entry in model.provenance),
    ]


@dataclass(frozen=True, slots=True)
class _Endings:
    """Endings of one class, ready to draw from."""

    endings: Sequence[Ending]
    table: WeightedTable

    @classmethod
    def of(cls, endings: Sequence[Ending]) -> _Endings:
        return cls(endings, WeightedTable([entry.share for entry in endings]))

    def draw(self, rng: Random) -> tuple[Outcome, float | None]:
        ending = self.endings[self.table.draw(rng)]
        if not ending.duration_seconds_quantiles:
            return ending.outcome, None
        return ending.outcome, round(at_rank(ending.duration_seconds_quantiles, rng.random()), 3)


def _mean_batch_size(entry: WorkClass) -> float:
    weight = sum(row.weight for row in entry.batches)
    return sum(row.size * row.weight for row in entry.batches) / weight


class _Player:
    """Draws one workload; holds the random streams and the tables prepared from the model."""

    def __init__(self, model: FittedModel, share: float, seed: int) -> None:
        self._model = model
        self._share = share
        self._carry_rng = Random(f"{seed}/carried-in")
        self._rng = Random(f"{seed}/arrivals")
        self._requests = [
            WeightedTable([row.weight for row in entry.requests]) for entry in model.classes
        ]
        self._endings = [_Endings.of(entry.endings) for entry in model.classes]
        self._sizes = [
            WeightedTable([row.weight for row in entry.batches]) for entry in model.classes
        ]
        batches = [entry.share / _mean_batch_size(entry) for entry in model.classes]
        self._batch_classes = WeightedTable(batches)
        self._batches_per_arrival = fsum(batches) / fsum(entry.share for entry in model.classes)
        profiles = model.usage.life_profiles
        self._profiles = WeightedTable([row.weight for row in profiles]) if profiles else None
        self._number = 0

    def arrivals(self) -> Iterator[WorkloadArrival]:
        """The carried-in set, then batches for ever."""
        yield from self._carried_in()
        thinned = self._rng.random()  # running total of wanted arrivals; whole numbers are emitted
        for time_seconds in self._batch_times():
            index = self._batch_classes.draw(self._rng)
            entry = self._model.classes[index]
            size = entry.batches[self._sizes[index].draw(self._rng)].size
            request = entry.requests[self._requests[index].draw(self._rng)]
            thinned += size * min(self._share, 1.0)
            for _ in range(int(thinned)):
                ending = self._endings[index].draw(self._rng)
                yield self._arrival(time_seconds, entry, request, ending, self._rng)
            thinned -= int(thinned)

    def _batch_times(self) -> Iterator[float]:
        """Times of a Poisson process with hourly rates; above the reference size there are more
        batches, below it batches are thinned instead, so that one submission stays one.
        """
        more = max(self._share, 1.0) * self._batches_per_arrival
        hour, now = 0, CARRIED_IN_SECONDS
        while True:
            rate = self._model.arrivals_per_hour[(self._model.start_hour + hour) % HOURS_PER_DAY]
            end = (hour + 1) * SECONDS_PER_HOUR
            while rate > 0:
                now += self._rng.expovariate(rate * more / SECONDS_PER_HOUR)
                if now >= end:
                    break
                yield round(now, 6)
            hour, now = (
                hour + 1,
                end,
            )  # an exponential gap has no memory: redraw at the border

    def _carried_in(self) -> Iterator[WorkloadArrival]:
        model, rng = self._model, self._carry_rng
        wanted = round(model.carried_in * self._share)
        weights = [sum(row.weight for row in group.requests) for group in model.running]
        drawn: list[tuple[int, RequestRow]] = []
        for group_index, count in enumerate(allot(weights, wanted) if weights else []):
            requests = model.running[group_index].requests
            table = WeightedTable([row.weight for row in requests])
            picks = table.sweep(count, rng) if count else []
            drawn += [(group_index, requests[pick]) for pick in picks]
        rng.shuffle(drawn)
        classes = {entry.name: entry for entry in model.classes}
        endings = [_Endings.of(group.endings) for group in model.running]
        for index, (group_index, request) in enumerate(drawn):
            entry = classes[model.running[group_index].class_name]
            ending = endings[group_index].draw(rng)
            time_seconds = round(carried_in_time(index, len(drawn)), 6)
            yield self._arrival(time_seconds, entry, request, ending, rng)

    def _arrival(
        self,
        time_seconds: float,
        entry: WorkClass,
        request: RequestRow,
        ending: tuple[Outcome, float | None],
        rng: Random,
    ) -> WorkloadArrival:
        name = f"{self._model.name}-{entry.name}-{self._number:06d}"
        self._number += 1
        usage = self._model.usage
        cpu_ratio = round(at_rank(usage.cpu_ratio_quantiles, rng.random()), 4)
        memory_ratio = round(at_rank(usage.memory_ratio_quantiles, rng.random()), 4)
        return WorkloadArrival(
            time_seconds=time_seconds,
            name=name,
            kind=entry.kind,
            cpu_request_millicores=request.cpu_millicores,
            memory_request_bytes=request.memory_bytes,
            gpus=request.gpus,
            cpu_usage_ratio=cpu_ratio,
            memory_usage_ratio=memory_ratio,
            duration_seconds=ending[1],
            outcome=ending[0],
            priority=entry.priority,
            labels={"foresail.dev/workload-class": entry.name},
            namespace=self._model.name,
            usage_windows=self._windows(ending[1], cpu_ratio, memory_ratio, rng),
        )

    def _windows(
        self, duration_seconds: float | None, cpu_ratio: float, memory_ratio: float, rng: Random
    ) -> tuple[UsageWindow, ...]:
        """Return the life profile drawn for one pod; none without profiles or without an end."""
        if self._profiles is None or not duration_seconds:
            return ()
        factors = self._model.usage.life_profiles[self._profiles.draw(rng)].cpu_factors
        part = round(duration_seconds / len(factors), 3)
        if part <= 0:
            return ()
        return tuple(
            UsageWindow(part, round(cpu_ratio * factor, 4), memory_ratio) for factor in factors
        )
