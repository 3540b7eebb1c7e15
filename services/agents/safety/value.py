"""Agent A by expected value: keep Services within their objective, and give back what that took.

For each Service whose requests are counted:

- Its ready pods violate its objective (requests that met none are no sign of too few), or its trend leads to a rate
  that its replicas have been seen not to bear: more replicas, as many as the rate needs at what one of them has borne,
  or bears in time now. Worth: minutes of violation avoided, times the chance that it goes on by itself and that more
  replicas help, which is learned from our own raises; less the capacity taken.
- It has more replicas than its owner set, by our wish, and has been quiet: back to what its recent peak needs,
  at least the owner's number. Worth: the capacity, less the chance that the violation comes back.

Machines that are about to go by a notice are emptied in time (`draining`). Others are left alone until a risk is
foreseen by a calibrated model that has shown skill live: moving pods by a score costs work and saves none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from schemas.actions import Evidence
from schemas.numbers import rounded
from schemas.observation import ObservedServices
from services.agents.appraisal import Appraisal, Candidate, PolicyInput
from services.agents.effects import HOUR, MINUTE, effect_of, share_with_spread
from services.agents.memory import GROWN_STEPS, ServiceMemory
from services.agents.safety.draining import drains
from services.agents.safety.foresight import kept_ahead, more_ahead
from services.agents.safety.places import surge_pods_left
from services.agents.safety.replica_room import ReplicaRoom, replicate_action
from services.agents.value_settings import ValueSettings

TREND_STEPS = 8
"""Newest steps that a trend is read from."""
FEWEST_STEPS = 4
IN_TIME_RATIO = 0.8
"""What a replica bears within its objective, of what it served in time while it was overloaded: our own guess."""
BROKEN_SECONDS = 3_600.0
"""How long after a violation fewer replicas than would have prevented it are not tried again: our own guess."""
OWN_PRIOR = 3.0
"""Raises of one Service that what was seen of all counts as."""
RELAPSE_RATIO = 0.05
"""Chance that a Service violates its objective again after replicas were given back: our own guess."""
UNSEEN_RATIO = 0.5
"""Chance that a rate which was not enough before is not enough again: our own guess."""


def appraise(situation: PolicyInput) -> Appraisal:
    """Return more replicas for Services that need them, and fewer for those that no longer do."""
    table = situation.view.services
    services = situation.memory.services
    candidates: list[Candidate] = [*drains(situation, surge_pods_left(situation))]
    if table is None or not services:
        return Appraisal(tuple(candidates), "no Service whose requests are counted is known")
    candidates.extend(_raises(situation, table))
    missing: list[str] = []
    surge_pods = surge_pods_left(situation)
    for row in range(len(table.ids)):
        room = ReplicaRoom(situation, table, row, surge_pods)
        candidates.extend(_fewer(room))
        missing.extend(_why_no_more(room))
    return Appraisal(tuple(candidates), "; ".join([_summary(situation), *missing]))


def _raises(situation: PolicyInput, table: ObservedServices) -> Iterator[Candidate]:
    """Yield the raises that fit together, those that gain most by a pod first."""
    whole = surge_pods_left(situation)
    gains: dict[int, float] = {}
    for row in range(len(table.ids)):
        if (alone := _more(ReplicaRoom(situation, table, row, whole))) is not None:
            raising, pods = alone
            gains[row] = raising.effect.net / pods
    left, taken_cores = whole, 0.0
    for row in sorted(gains, key=lambda row: -gains[row]):
        fitting = _more(ReplicaRoom(situation, table, row, left, taken_cores))
        if fitting is not None:
            raising, pods = fitting
            yield raising
            left, taken_cores = (
                left - pods,
                taken_cores + pods * (table.replica_cpu_cores[row] or 0.0),
            )


def _why_no_more(room: ReplicaRoom) -> Iterator[str]:
    """Yield what stands in the way of more replicas for a Service that violates its objective."""
    table, row, name, service = room.table, room.row, room.name, room.service
    settings = room.situation.settings
    wanted = max(service.wanted, service.replicas)
    if service.overloaded_ratio <= settings.slo_bad_ratio or room.limit() > wanted:
        return
    base = service.base_replicas or service.wanted
    if table.autoscaled[row] and table.most[row] <= wanted:
        yield f"the autoscaler of {name} is at its maximum of {wanted}"
    elif math.floor(base * settings.most_surge) <= wanted:
        yield f"{name} has {settings.most_surge:g} times its {base} replicas already"
    elif room.surge_pods <= 0:
        yield f"no more pods may be added beyond their owners' numbers, for {name} either"
    else:
        cores = table.replica_cpu_cores[row] or 0
        yield f"no place is left for a replica of {name} of {cores:g} cores"


def kept_replicas(
    service: ServiceMemory, rate: float, headroom_ratio: float, quiet_seconds: float, learned: float
) -> int:
    """Return how many replicas bear a rate (requests/s) by everything that was seen, violations included.

    What was served in time while too much came says little of a rate at which the objective is kept, so for an hour
    what was too much stays too much: else the same replicas come and go every quarter of an hour.

    Args:
        service: what was seen of it.
        rate: requests a second of all replicas.
        headroom_ratio: share of what a replica bears that is kept free.
        quiet_seconds: how long the Service has kept its objective.
        learned: what one replica surely bears, as inference says; without it idle replicas would stay.
    """
    bearable = max(service.borne_rate, IN_TIME_RATIO * service.in_time_rate, learned)
    if service.broken_rate and quiet_seconds < BROKEN_SECONDS:
        bearable = min(bearable, service.broken_rate)
    bearable *= 1.0 - headroom_ratio
    return math.ceil(rate / bearable) if bearable > 0.0 else service.replicas


def needed_replicas(service: ServiceMemory, rate: float, headroom_ratio: float) -> int | None:
    """Return how many replicas bear a rate (requests/s), by what one of them has borne; None where nothing is known."""
    bearable = service.borne_rate
    if service.broken_rate:
        bearable = min(bearable, service.broken_rate)
    bearable *= 1.0 - headroom_ratio
    return math.ceil(rate / bearable) if bearable > 0.0 else None


def replicas_by_bad_ratio(service: ServiceMemory, headroom_ratio: float) -> int:
    """Return how many replicas would serve all requests in time if those that are ready bear what is in time now."""
    in_time = max(0.1, 1.0 - service.overloaded_ratio)
    return math.ceil(max(1, service.ready) / (in_time * (1.0 - headroom_ratio)))


def cured_ratio(service: ServiceMemory, situation: PolicyInput) -> tuple[float, float]:
    """Return the chance that more replicas end this Service's violation, and its standard deviation.

    What was seen of all Services stands for `OWN_PRIOR` raises of this one.
    """
    memory, settings = situation.memory, situation.settings
    of_all, _ = share_with_spread(settings.cured_prior + memory.cures, 10.0 + memory.raises)
    return share_with_spread(OWN_PRIOR * of_all + service.cures, OWN_PRIOR + service.raises)


def foreseen_rate(service: ServiceMemory, ahead_steps: float) -> float:
    """Return the rate so many steps ahead by the newest steps' straight line, at least the newest rate.

    Least squares; a Service whose requests fall is taken to stay as it is.
    """
    rates = service.rates[-TREND_STEPS:]
    count = len(rates)
    if count < FEWEST_STEPS:
        return service.rate
    middle = (count - 1) / 2.0
    mean = math.fsum(rates) / count
    slope = math.fsum((step - middle) * (rate - mean) for step, rate in enumerate(rates))
    slope /= math.fsum((step - middle) ** 2 for step in range(count))
    return max(service.rate, mean + slope * (middle + ahead_steps))


def _when_they_come(settings: ValueSettings) -> str:
    if settings.forecast_seconds:
        return f"are foreseen in {settings.forecast_seconds:g} s"
    return "come, which was too much before"


def _more(room: ReplicaRoom) -> tuple[Candidate, int] | None:
    """Return a raise, where one is worth considering, with the pods that it would add.

    A forecast only adds: where what is seen asks for as many, that is the raise.
    """
    if not _may_grow(room):
        return None
    seen = _more_by_what_is_seen(room)
    return seen if not room.situation.settings.forecast else more_ahead(room, seen) or seen


def _may_grow(room: ReplicaRoom) -> bool:
    """Say whether the effect of the newest change has shown, and another may follow it."""
    situation, service = room.situation, room.service
    settings, now = situation.settings, situation.view.cluster_time_seconds
    if now - service.changed_seconds < settings.settle_seconds and service.asked_replicas:
        return False
    if service.ready < service.wanted:  # some are starting, or wait for a place
        return False
    if now - service.grown_seconds < GROWN_STEPS * situation.view.interval_seconds:
        return False
    recent = [at for at in service.own_changes if now - at < settings.changes_seconds]
    return not room.is_ineffective and len(recent) < settings.changes


def _more_by_what_is_seen(room: ReplicaRoom) -> tuple[Candidate, int] | None:
    situation, name, service = room.situation, room.name, room.service
    settings = situation.settings
    rate = foreseen_rate(service, settings.forecast_seconds / situation.view.interval_seconds)
    violates = _compare(service.overloaded_ratio, settings.slo_bad_ratio, name)
    reaches = Evidence(
        name="foreseen_rate_of_a_replica", value=rounded(rate / max(1, service.ready)),
        comparison=">=", threshold=service.broken_rate or None, subject=name, signal="requests",
        holds=bool(service.broken_rate) and rate / max(1, service.ready) >= service.broken_rate,
    )  # fmt: skip
    if not (violates.holds or reaches.holds):
        return None
    wanted = max(service.wanted, service.replicas)
    needed = needed_replicas(service, rate, settings.headroom_ratio)
    if needed is None or needed <= wanted:
        needed = replicas_by_bad_ratio(service, settings.headroom_ratio)
    if curing_rate := service.newest_raise.curing_rate:
        needed = max(needed, math.ceil(rate / curing_rate))
    enough, most = max(needed, wanted + 1), room.limit()
    replicas = min(enough, math.ceil(wanted * settings.most_growth), most)
    pods = replicas - wanted
    if pods <= 0:
        return None
    cured, spread = cured_ratio(service, situation)
    chance = settings.persists_ratio if violates.holds else UNSEEN_RATIO
    if most < enough:  # a part of what is needed may end nothing
        chance *= pods / (enough - wanted)
    at_stake = chance * settings.slo_service_minute * settings.horizon_seconds / MINUTE
    hourly = pods * room.hourly_cost
    effect = effect_of(
        {"slo_services": at_stake * cured, "capacity": -hourly * settings.horizon_seconds / HOUR},
        settings.horizon_seconds,
        settings,
        spread=at_stake * spread,
    )
    why = f"{100 * service.overloaded_ratio:.3g} % of the requests that its pods get are bad" if violates.holds else (
        f"{rate:.4g} requests/s {_when_they_come(settings)}"
    )  # fmt: skip
    decisive = (violates,) if violates.holds else (reaches,)
    text = f"{name}: {why}; {replicas} instead of {wanted} replicas"
    return Candidate(replicate_action(service.workload, replicas), effect, decisive, text), pods


def _fewer(room: ReplicaRoom) -> Iterator[Candidate]:
    situation, name, service = room.situation, room.name, room.service
    settings, now = situation.settings, situation.view.cluster_time_seconds
    quiet = now - max(service.violated_seconds, service.changed_seconds)
    rested = Evidence(
        name="quiet_seconds", value=rounded(quiet), comparison=">=", holds=quiet >= settings.quiet_seconds,
        threshold=settings.quiet_seconds, subject=name, signal="requests",
    )  # fmt: skip
    vain = _ineffective_scale_ups(room, now)
    if not service.raised or not (rested.holds or vain.holds):
        return
    peak = max(service.rates, default=0.0)
    ahead, learned = kept_ahead(room)
    violated = now - service.violated_seconds
    kept = kept_replicas(service, peak, settings.headroom_ratio, violated, learned)
    needed = 0 if vain.holds else max(kept, ahead)
    replicas = max(service.owner_replicas, needed)
    if replicas >= service.replicas:
        return
    horizon = settings.saving_horizon_seconds
    given_back = room.hourly_cost * (service.replicas - replicas) * horizon / HOUR
    at_stake = settings.slo_service_minute * settings.settle_seconds / MINUTE
    effect = effect_of(
        {"capacity": given_back, "slo_services": -RELAPSE_RATIO * at_stake},
        horizon,
        settings,
        spread=at_stake * math.sqrt(RELAPSE_RATIO * (1.0 - RELAPSE_RATIO)),
    )
    why = "more replicas have not helped" if vain.holds else (
        f"within its objective for {quiet:.0f} s, at most {peak:.4g} requests/s"
    )  # fmt: skip
    text = f"{name}: {why}; back to {replicas} of {service.replicas} replicas, its owner set {service.owner_replicas}"
    decisive = (vain,) if vain.holds else (rested,)
    yield Candidate(replicate_action(service.workload, replicas), effect, decisive, text)


def _ineffective_scale_ups(room: ReplicaRoom, now: float) -> Evidence:
    """Return whether replicas are to be given back since they did not help; not before guard rails let them go."""
    service, newest = room.service, room.service.newest_raise
    rested = now - service.changed_seconds >= room.situation.settings.quiet_seconds
    value, comparison, threshold = float(newest.vain), ">=", 1.0
    if not newest.vain and newest.curing_rate is not None:
        value, comparison, threshold = rounded(room.least_rate), ">", newest.curing_rate
    return Evidence(
        name="replica_rate_at_most" if comparison == ">" else "raises_in_vain", value=value, comparison=comparison,
        threshold=threshold, subject=room.name, signal="requests", holds=rested and room.is_ineffective,
    )  # fmt: skip


def _compare(bad_ratio: float, limit: float, name: str) -> Evidence:
    return Evidence(
        name="bad_requests_ratio", value=bad_ratio, comparison=">", threshold=limit, holds=bad_ratio > limit,
        subject=name, signal="requests",
    )  # fmt: skip


def _summary(situation: PolicyInput) -> str:
    limit = situation.settings.slo_bad_ratio
    services = situation.memory.services
    violating = sum(service.bad_ratio > limit for service in services.values())
    return f"{violating} of {len(services)} Services violate their objective"
