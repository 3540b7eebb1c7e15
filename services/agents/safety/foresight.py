"""Demand of a forecast on one Service: how many replicas, and the ground that a proposal states. Pure."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

from schemas.actions import Evidence
from schemas.numbers import rounded
from schemas.proposal import ForecastGround
from services.agents.appraisal import Band, Candidate, PolicyInput, bands_of
from services.agents.effects import HOUR, MINUTE, effect_of
from services.agents.memory import ServiceMemory
from services.agents.safety.ahead import (
    AheadNumber,
    RateBand,
    ReplicaRate,
    Stakes,
    bands_in_reach,
    cheapest_number,
)
from services.agents.safety.replica_room import ReplicaRoom, replicate_action

Z_HIGH, Z_HIGHEST = 1.2816, 1.6449
"""Quantiles of the normal distribution at 0.9 and 0.95: where nobody said a band's outermost quantiles, they follow
from its ends.
"""
USUAL_LEAD_SECONDS = 120.0
"""From a decision until a new replica is ready, before any was seen: a guess, with an image to be pulled."""
LEAST_KEPT_AHEAD_SECONDS = 900.0
"""Replicas are given back only where so much time ahead needs none of them."""


@dataclass(frozen=True, slots=True)
class Foresight:
    """Forecast of one Service and its worth."""

    bands: dict[float, Band]
    """By horizon in seconds, shortest first."""
    bears: ReplicaRate
    stakes: Stakes
    lead_seconds: float
    made_seconds: float
    age_seconds: float
    """Since then: horizons began when the forecast was made."""
    prediction_ids: tuple[str, ...]

    def wanted(self, now: int, most: int, hold_seconds: float) -> AheadNumber | None:
        """Return the number, `now` or more, that is cheapest for what new replicas can still serve."""
        reach = bands_in_reach(self._rate_bands, self.age_seconds + self.lead_seconds, hold_seconds)
        return cheapest_number(reach, self.bears, self.stakes, now=now, least=now, most=most)

    def kept(self, now: int, least: int) -> AheadNumber | None:
        """Return the number, `now` or fewer, that is cheapest for what comes before a raise could help again."""
        until = self.age_seconds + max(self.lead_seconds, LEAST_KEPT_AHEAD_SECONDS)
        soon = [band for band in self._rate_bands if band.horizon_seconds <= until]
        return cheapest_number(soon, self.bears, self.stakes, now=now, least=least, most=now)

    def ground(self, series: str, number: AheadNumber, without: int | None) -> ForecastGround:
        """Return what a proposal states of the forecast that it rests on.

        Args:
            series: name of the series.
            number: what is wanted by it.
            without: replicas that would be wanted without it.
        """
        band = self.bands[number.horizon_seconds]
        return ForecastGround(
            prediction_ids=self.prediction_ids,
            series=series,
            model=band.rule,
            made_seconds=self.made_seconds,
            horizon_seconds=number.horizon_seconds,
            low=rounded(band.low),
            middle=rounded(band.middle),
            high=rounded(band.high),
            replica_rate=rounded(self.bears.middle),
            lead_seconds=self.lead_seconds,
            chance_before=rounded(number.chance_before),
            chance_after=rounded(number.chance_after),
            without_replicas=without,
        )

    @property
    def _rate_bands(self) -> list[RateBand]:
        return [RateBand(horizon, _quantiles(band)) for horizon, band in self.bands.items()]


def foresight_of(
    situation: PolicyInput, name: str, service: ServiceMemory, replica_hourly: float
) -> Foresight | None:
    """Return what is foreseen of a Service; None while its demand or what a replica bears is unknown.

    Args:
        situation: what the agent sees.
        name: of the Service.
        service: what is remembered of it.
        replica_hourly: cost of one replica for an hour.
    """
    bands = bands_of(situation, f"service/{name}")
    bears, capacity_id = replica_rate(situation, service)
    if not bands or bears is None:
        return None
    foreseen, settings = situation.foreseen, situation.settings
    return Foresight(
        bands=bands,
        bears=bears,
        stakes=Stakes(60.0 * settings.slo_service_minute, replica_hourly),
        lead_seconds=max(service.leads, default=USUAL_LEAD_SECONDS),
        made_seconds=foreseen.bands_seconds,
        age_seconds=situation.view.cluster_time_seconds - foreseen.bands_seconds,
        prediction_ids=(foreseen.bands_id, *((capacity_id,) if capacity_id else ())),
    )


def replica_rate(situation: PolicyInput, service: ServiceMemory) -> tuple[ReplicaRate | None, str]:
    """Return what one replica bears, and the id of the event that says so, empty where the agent's own memory does.

    What inference has learned comes first; else what was seen to be too much. None while nothing is known, or only a
    rate that it has borne: where replicas idle, that is far from what they could.
    """
    stated = situation.foreseen.capacity(situation.view.cycle)
    if stated is not None:
        table = stated.workloads
        row = bisect_left(table.ids, service.workload)
        if row < len(table) and table.ids[row] == service.workload and table.low[row] > 0.0:
            high = table.high[row]
            if high is None:
                return None, ""
            return ReplicaRate(table.low[row], table.replica_rate[row], high), stated.id
    if service.broken_rate <= 0.0:
        return None, ""
    kept = 1.0 - situation.settings.headroom_ratio
    low, middle = kept * (service.borne_rate or math.inf), kept * service.broken_rate
    return ReplicaRate(min(low, middle), middle, middle), ""


def _quantiles(band: Band) -> tuple[float, ...]:
    """Return a band at `ahead.LEVELS`, never falling."""
    if band.lowest is not None and band.highest is not None:
        return tuple(sorted((band.lowest, band.low, band.middle, band.high, band.highest)))
    stretch = Z_HIGHEST / Z_HIGH
    lowest = max(0.0, band.middle - stretch * (band.middle - band.low))
    highest = band.middle + stretch * (band.high - band.middle)
    return (min(lowest, band.low), band.low, band.middle, band.high, highest)


def more_ahead(
    room: ReplicaRoom, seen: tuple[Candidate, int] | None
) -> tuple[Candidate, int] | None:
    """Return the raise that the forecast asks for beyond what is seen; None where it asks for none."""
    situation, name, service = room.situation, room.name, room.service
    settings = situation.settings
    hourly = room.hourly_cost
    foresight = foresight_of(situation, name, service, hourly)
    wanted = max(service.wanted, service.replicas)
    most = min(math.ceil(wanted * settings.most_growth), room.limit())
    hold = settings.quiet_seconds
    number = None if foresight is None else foresight.wanted(wanted, most, hold)
    without = None if seen is None else wanted + seen[1]
    if foresight is None or number is None or number.replicas <= (without or wanted):
        return None
    pods = number.replicas - wanted
    avoided = number.chance_before - number.chance_after
    at_stake = settings.slo_service_minute * hold / MINUTE
    effect = effect_of(
        {"slo_services": at_stake * avoided, "capacity": -pods * hourly * hold / HOUR},
        hold,
        settings,
        spread=at_stake * math.sqrt(avoided * (1.0 - avoided)),
    )
    ground = foresight.ground(f"service/{name}", number, without)
    decisive = Evidence(
        name="chance_outside_objective", value=ground.chance_before, comparison=">", holds=True,
        threshold=ground.chance_after, subject=name, signal="requests",
    )  # fmt: skip
    text = (
        f"{name}: {ground.middle:.4g} requests/s are foreseen in {ground.horizon_seconds / MINUTE:g} min, "
        f"{ground.high:.4g} at most nine times in ten ({ground.model}); new pods take {ground.lead_seconds:.0f} s, "
        f"one bears {ground.replica_rate:.4g}; {number.replicas} instead of {wanted} replicas, without the forecast "
        f"{wanted if without is None else without}"
    )
    replicate = replicate_action(service.workload, number.replicas)
    return Candidate(replicate, effect, (decisive,), text, ground), pods


def kept_ahead(room: ReplicaRoom) -> tuple[int, float]:
    """Return how many replicas the forecast keeps and the rate that one surely bears; 0 where nothing is foreseen."""
    if not room.situation.settings.forecast:
        return 0, 0.0
    foresight = foresight_of(room.situation, room.name, room.service, room.hourly_cost)
    if foresight is None:
        return 0, 0.0
    service = room.service
    number = foresight.kept(service.replicas, min(service.owner_replicas, service.replicas))
    return (0 if number is None else number.replicas), foresight.bears.low
