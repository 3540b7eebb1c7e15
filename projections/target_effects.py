"""Effect of acting on a target, by targets that were left untouched on purpose (docs/breakers.md).

A unit is one kind of action on one target in one epoch, from the first time that it was wanted: by a draw it was then
proposed or left. What it gains is the target's own cost in the step before, less its mean cost over the action's
horizon, as money an hour; of a workload the minutes outside its Services' objective and the capacity of its
replicas, of a node its energy. The estimate is the mean gain of the proposed less that of the left, whatever became of
the proposals, with Welch's interval (Welch, 1947, Biometrika 34). Units whose horizon goes beyond their epoch are left
out on both sides.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from projections.quantiles import student_quantile
from projections.score.prices import ScorePrices
from projections.score.tally import Slo, service_violates
from schemas.actions import Action, TargetKind
from schemas.config import Config
from schemas.effect import Effect
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.proposal import Proposal, UntouchedDraw
from schemas.view import ObservationView, update_view

READS = ("config.>", "observation", "proposal.*")
CONFIDENCE = 0.95
LEAST_UNITS = 2
KEPT_GAINS = 10_000
_HOUR = 3_600.0
_GIB = 2.0**30


@dataclass(slots=True)
class Unit:
    """One kind of action on one target in one epoch, while its horizon lasts."""

    kind: str
    target: str
    of_node: bool
    left: bool
    begun_seconds: float
    ends_seconds: float
    expected_per_hour: float
    before_per_hour: float
    """Cost of the target in the step before."""
    money: float = 0.0
    """Cost of the target since."""
    seconds: float = 0.0


@dataclass(slots=True)
class KindEffect:
    """The closed units of one kind of action."""

    proposed: list[float] = field(default_factory=list)
    """Gains, money an hour."""
    left: list[float] = field(default_factory=list)
    expected: list[float] = field(default_factory=list)
    """What the proposed ones were expected to gain, money an hour."""
    cut: int = 0
    """Units whose horizon went beyond their epoch, or was not seen to its end."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Effect of acting on a target of one kind, money an hour."""

    per_hour: float
    low: float | None
    """Limits of the interval; None while either side has fewer than two units."""
    high: float | None


@dataclass(slots=True)
class TargetEffects:
    """A fold of a log's configuration, observations and proposals."""

    kinds: dict[str, KindEffect] = field(default_factory=dict)
    prices: ScorePrices | None = None
    """Those that an agent announced; None: nobody judges by expected value."""
    draw: UntouchedDraw | None = None
    """The newest."""
    view: ObservationView | None = None
    open: list[Unit] = field(default_factory=list)
    _known: set[tuple[str, str, int]] = field(default_factory=set)
    _violated: dict[str, int] = field(default_factory=dict)
    """By workload: its Services that violated their objective in the newest step."""

    def add(self, event: Event[Any]) -> None:
        """Take the next event of the log."""
        match event.data:
            case Config(settings={"value": dict(value)}):
                self._configure(value)
            case Observation():
                self._observe(update_view(self.view, event))
            case Proposal(untouched=UntouchedDraw() as draw) as proposal:
                self.draw = draw
                for action, effect, left in _wanted(proposal, draw):
                    self._begin(action, effect, draw, proposal.cluster_time_seconds, left=left)

    def _configure(self, value: Mapping[str, Any]) -> None:
        try:
            self.prices = ScorePrices.model_validate(
                {name: value[name] for name in ScorePrices.model_fields if name in value}
            )
        except ValidationError:
            return  # of another version, which knew other values

    def _observe(self, view: ObservationView | None) -> None:
        before, self.view = self.view, view
        if view is None or before is None or self.prices is None:
            return
        self._violated = dict(_violations(before, view, self.prices))
        seconds, now = (
            view.cluster_time_seconds - before.cluster_time_seconds,
            view.cluster_time_seconds,
        )
        for unit in self.open:
            cost = self._cost_per_hour(unit.target, of_node=unit.of_node)
            if cost is not None:
                unit.money += cost * seconds / _HOUR
                unit.seconds += seconds
        for unit in [one for one in self.open if one.ends_seconds <= now]:
            self.open.remove(unit)
            self._close(unit)

    def _close(self, unit: Unit) -> None:
        kind = self.kinds.setdefault(unit.kind, KindEffect())
        if unit.seconds < (unit.ends_seconds - unit.begun_seconds) / 2.0:
            kind.cut += 1
            return
        gain = unit.before_per_hour - unit.money / unit.seconds * _HOUR
        (kind.left if unit.left else kind.proposed).append(gain)
        if not unit.left:
            kind.expected.append(unit.expected_per_hour)
        for gains in (kind.left, kind.proposed, kind.expected):
            del gains[:-KEPT_GAINS]

    def _begin(
        self, action: Action, effect: Effect, draw: UntouchedDraw, now: float, *, left: bool
    ) -> None:
        key = (str(action.kind), action.target.name, draw.epoch)
        of_node = action.target.kind is TargetKind.NODE
        before = self._cost_per_hour(action.target.name, of_node=of_node)
        if key in self._known or before is None:
            return
        self._known = {known for known in self._known if known[2] >= draw.epoch} | {key}
        ends = now + effect.horizon_seconds
        if ends > draw.ends_seconds:
            self.kinds.setdefault(key[0], KindEffect()).cut += 1
            return
        self.open.append(Unit(key[0], key[1], of_node, left, now, ends, effect.per_hour, before))

    def _cost_per_hour(self, target: str, *, of_node: bool) -> float | None:
        """Return what a target costs now, money an hour; None where it is not shown."""
        view, prices = self.view, self.prices
        if view is None or prices is None:
            return None
        if of_node:
            row = view.nodes.index().get(target)
            if row is None:
                return None
            return view.nodes.power_watts[row] / 1_000.0 * view.totals.energy_price
        table = view.services
        if table is None or target not in table.workload:
            return None
        row = table.workload.index(target)
        cores, size = table.replica_cpu_cores[row] or 0.0, table.replica_memory_bytes[row] or 0
        one = cores * prices.core_hour + size / _GIB * prices.memory_gib_hour
        violated = self._violated.get(target, 0) * 60.0 * prices.slo_service_minute
        return violated + table.wanted[row] * one


def _wanted(proposal: Proposal, draw: UntouchedDraw) -> Iterator[tuple[Action, Effect, bool]]:
    """Yield what could have been left, with its expected effect and whether it was."""
    if proposal.effect is not None and proposal.action.target.name in draw.eligible:
        yield proposal.action, proposal.effect, False
    for wish in proposal.further:
        if wish.action.target.name in draw.eligible:
            yield wish.action, wish.effect, False
    for one in draw.left:
        yield one.action, one.effect, True


def _violations(
    before: ObservationView, view: ObservationView, prices: ScorePrices
) -> Iterator[tuple[str, int]]:
    """Yield each workload with how many of its Services violated their objective between two observations."""
    then = (before.work and before.work.services) or ()
    now = (view.work and view.work.services) or ()
    earlier = {one.service: one for one in then}
    slo = Slo(latency_seconds=prices.slo_latency_seconds, bad_ratio=prices.slo_bad_ratio)
    counted: dict[str, int] = {}
    for one in now:
        violates = service_violates(earlier.get(one.service), one, slo)
        counted[one.workload] = counted.get(one.workload, 0) + violates
    yield from counted.items()


def estimate_of(kind: KindEffect) -> Estimate | None:
    """Return what acting changes; None while nothing of a side is known."""
    if not kind.proposed or not kind.left:
        return None
    difference = statistics.fmean(kind.proposed) - statistics.fmean(kind.left)
    if min(len(kind.proposed), len(kind.left)) < LEAST_UNITS:
        return Estimate(difference, None, None)
    shares = [_variance_of_mean(gains) for gains in (kind.proposed, kind.left)]
    error = math.sqrt(math.fsum(shares))
    if error == 0.0:
        return Estimate(difference, difference, difference)
    below = math.fsum(
        share**2 / (len(gains) - 1)
        for share, gains in zip(shares, (kind.proposed, kind.left), strict=True)
    )
    freedom = max(1, math.floor(math.fsum(shares) ** 2 / below))
    reach = student_quantile((1.0 + CONFIDENCE) / 2.0, freedom) * error
    return Estimate(difference, difference - reach, difference + reach)


def _variance_of_mean(gains: Sequence[float]) -> float:
    return statistics.variance(gains) / len(gains)
