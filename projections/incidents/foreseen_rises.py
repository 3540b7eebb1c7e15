"""Rises of demand for which a forecast asked for replicas, from the first word to what fails without us."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from projections.figures import number
from projections.foresight.action import AheadAction
from projections.foresight.foreseen import BandAhead
from projections.foresight.log import Settled
from projections.incidents.history import ClusterHistory, occurrence, of_kind
from projections.incidents.incident import (
    Alarm,
    DamageGroup,
    DamageKind,
    DamagePeriod,
    Lane,
    Occurrence,
)
from schemas.outcome import Mode
from schemas.reaction import ReactionKind

FORECAST, ASKED, READY = "forecast", "replicas_asked", "replicas_ready"
RISE, NO_RISE, FAILS = "rise", "no_rise", "requests_fail"


def carried_out(found: Iterable[Settled]) -> list[Settled]:
    """Return the rises that were acted on, by when they were foreseen."""
    done = (one for one in found if one.rise.carried_out)
    return sorted(done, key=lambda one: (one.rise.first.spoke_seconds, one.rise.first.seq))


def foreseen_groups(found: Sequence[Settled]) -> list[list[Settled]]:
    """Return rises that are one: each was foreseen before the first of them had come, or was due to.

    Args:
        found: as `carried_out` returns them.
    """
    groups: list[list[Settled]] = []
    ends: list[float] = []
    for one in found:
        end = rise_or_due(one)
        if groups and one.rise.first.spoke_seconds <= ends[-1]:
            groups[-1].append(one)
            ends[-1] = min(ends[-1], end)
        else:
            groups.append([one])
            ends.append(end)
    return groups


def lags_behind(group: DamageGroup, one: Settled) -> bool:
    """Say whether a damage is no more than an autoscaler that raised a Service while its foreseen rise went on."""
    end = math.inf if group.end_seconds is None else group.end_seconds
    return (
        all(damage.kind is DamageKind.SHORT for damage in group.damages)
        and one.rise.first.workload in group.places
        and group.begin_seconds <= one.rise.due_seconds
        and end >= one.rise.first.spoke_seconds
    )


def autoscaler_steps(history: ClusterHistory, lags: Sequence[DamageGroup]) -> Iterator[Occurrence]:
    """Yield when autoscalers saw the rise themselves."""
    begun = {(damage.subject, damage.begin_seconds) for lag in lags for damage in lag.damages}
    for reaction in of_kind(history.reactions, ReactionKind.HPA_CHANGE):
        if (reaction.item.workload, reaction.item.time_seconds) in begun:
            yield occurrence(
                *(reaction, Lane.AUTOSCALER, "raised by autoscalers, {n} x: {of}"),
                group=str(ReactionKind.HPA_CHANGE),
            )


def rise_or_due(one: Settled) -> float:
    """Return when the rise came, or else until when it should have."""
    came = one.outcome.rise_seconds
    return one.rise.due_seconds if came is None else came


def foreseen_alarm(group: Sequence[Settled], damage: float) -> Alarm:
    """Return the first word on a rise, of the Service whose rise was foreseen first."""
    action = group[0].rise.first
    return Alarm(
        model_id=action.ground.model,
        shadow=False,
        node="",
        value=first_band(action).middle,
        threshold=action.level,
        time_seconds=action.spoke_seconds,
        lead_seconds=damage - action.spoke_seconds,
        seq=action.spoke_seq,
        service=action.service,
    )


def first_band(action: AheadAction) -> BandAhead:
    """Return the nearest band of the first forecast whose middle passes the level, else the one that decided."""
    spoke = action.bands if action.spoke is None else action.spoke.bands
    passing = (band for band in spoke if band.middle > action.level)
    horizon = action.ground.horizon_seconds
    decisive = (band for band in action.bands if band.horizon_seconds == horizon)
    return next(passing, next(decisive, action.bands[0]))


def foreseen_damage(group: Iterable[Settled]) -> Iterator[DamagePeriod]:
    """Yield when requests failed, here and in the untouched world, of each Service once."""
    seen: set[tuple[DamageKind, str]] = set()
    for one in group:
        worlds = (
            (DamageKind.REQUESTS, one.outcome.here),
            (DamageKind.UNTOUCHED_REQUESTS, one.outcome.there),
        )
        for kind, world in worlds:
            key = (kind, one.rise.service)
            if world is None or world.fails_seconds is None or key in seen:
                continue
            seen.add(key)
            yield DamagePeriod(
                kind=kind,
                subject=one.rise.service,
                pending_class="",
                begin_seconds=world.fails_seconds,
                end_seconds=world.failing_until_seconds,
            )


def foreseen_steps(group: Iterable[Settled]) -> Iterator[Occurrence]:
    """Yield what happened, Service by Service; equal things become one step."""
    for one in group:
        yield from _own_steps(one)
        yield from _world_steps(one)


def _own_steps(one: Settled) -> Iterator[Occurrence]:
    action, outcome = one.rise.first, one.outcome
    band = first_band(action)
    yield _occurrence(
        *(action, action.spoke_seconds, Lane.PREDICTION, FORECAST),
        f"forecast: {band.model} foresees a rise of {{of}}: {action.service} to {number(band.middle)} requests/s in "
        f"{number(band.horizon_seconds / 60.0)} min ({number(band.low)} to {number(band.high)}), where "
        f"{action.replicas_before} replicas bear {number(action.bears_before)}",
    )
    for each in one.rise.actions:
        yield from _asked(each)
    if outcome.rise_seconds is not None:
        yield _occurrence(
            *(action, outcome.rise_seconds, Lane.DEMAND, RISE),
            f"the rise comes: {{of}}; {action.service} passes {number(action.level)} requests/s",
        )
    elif outcome.due:
        yield _occurrence(
            *(action, one.rise.due_seconds, Lane.DEMAND, NO_RISE),
            "the rise has not come until it was due: {of}",
        )


def _asked(action: AheadAction) -> Iterator[Occurrence]:
    asked = action.executed_seconds
    if asked is None:
        return
    shadow = " (shadow: nothing was written)" if action.mode is Mode.SHADOW else ""
    yield _occurrence(
        *(action, asked, Lane.FORESAIL, ASKED),
        f"replicas asked for by the forecast{shadow}, {{n}} in all: {{of}}; of {action.service} "
        f"{action.replicas_after} instead of {action.replicas_before}",
    )
    if action.ready_seconds is not None:
        yield _occurrence(
            *(action, action.ready_seconds, Lane.KUBELET, READY),
            "the replicas asked for are ready: {of}",
            lag=action.ready_seconds - asked,
        )


def _world_steps(one: Settled) -> Iterator[Occurrence]:
    worlds = (
        (one.outcome.here, Lane.DEMAND, "requests fail: {of}; {details}"),
        (
            one.outcome.there,
            Lane.UNTOUCHED,
            "in the world without us requests fail: {of}; {details}",
        ),
    )
    for world, lane, text in worlds:
        if world is not None and world.fails_seconds is not None:
            yield _occurrence(
                *(one.rise.first, world.fails_seconds, lane, FAILS),
                text,
                detail=f"{number(world.failed)} of {_short(one.rise.first)}",
                damage=True,
            )


def _short(action: AheadAction) -> str:
    return action.service.rpartition("/")[2]


def _occurrence(
    action: AheadAction,
    at: float,
    lane: Lane,
    kind: str,
    text: str,
    *,
    lag: float | None = None,
    detail: str = "",
    damage: bool = False,
) -> Occurrence:
    return Occurrence(
        time_seconds=at,
        lane=lane,
        kind=kind,
        text=text,
        seq=action.spoke_seq if kind == FORECAST else action.seq,
        cycle=action.cycle,
        lag_seconds=lag,
        since="" if lag is None else ASKED,
        workload=action.workload,
        group=kind,
        detail=detail,
        damage=damage,
    )
