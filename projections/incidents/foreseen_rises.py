"""Rises of demand for which a forecast asked for replicas, from the first word to what fails without us."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from projections.figures import number
from projections.foresight.action import AheadAction
from projections.foresight.foreseen import BandAhead
from projections.foresight.log import Settled
from projections.incidents.incident import Alarm, DamageKind, DamagePeriod, Lane, Occurrence
from schemas.outcome import Mode

FORECAST, ASKED, READY = "forecast", "replicas_asked", "replicas_ready"
RISE, NO_RISE, FAILS = "rise", "no_rise", "requests_fail"


def carried_out(found: Iterable[Settled]) -> list[Settled]:
    """Return the actions that were carried out, by when they were foreseen."""
    done = (one for one in found if one.action.executed_seconds is not None)
    return sorted(
        done, key=lambda one: (one.action.spoke_seconds, one.action.cycle, one.action.part)
    )


def foreseen_groups(found: Sequence[Settled]) -> list[list[Settled]]:
    """Return actions that answer one rise: each was foreseen before the first of them had risen, or was due to.

    Args:
        found: as `carried_out` returns them.
    """
    groups: list[list[Settled]] = []
    ends: list[float] = []
    for one in found:
        end = rise_or_due(one)
        if groups and one.action.spoke_seconds <= ends[-1]:
            groups[-1].append(one)
            ends[-1] = min(ends[-1], end)
        else:
            groups.append([one])
            ends.append(end)
    return groups


def rise_or_due(one: Settled) -> float:
    """Return when the rise came, or else until when it should have."""
    rise = one.outcome.rise_seconds
    return one.action.due_seconds if rise is None else rise


def foreseen_alarm(group: Sequence[Settled], damage: float) -> Alarm:
    """Return the first word on a rise, of the Service whose rise was foreseen first."""
    action = group[0].action
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
            key = (kind, one.action.service)
            if world is None or world.fails_seconds is None or key in seen:
                continue
            seen.add(key)
            yield DamagePeriod(
                kind=kind,
                subject=one.action.service,
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
    action, outcome = one.action, one.outcome
    band = first_band(action)
    yield _occurrence(
        *(action, action.spoke_seconds, Lane.PREDICTION, FORECAST),
        f"forecast: {band.model} foresees a rise of {{of}}: {action.service} to {number(band.middle)} requests/s in "
        f"{number(band.horizon_seconds / 60.0)} min ({number(band.low)} to {number(band.high)}), where "
        f"{action.replicas_before} replicas bear {number(action.bears_before)}",
    )
    asked = action.executed_seconds
    assert asked is not None
    shadow = " (shadow: nothing was written)" if action.mode is Mode.SHADOW else ""
    yield _occurrence(
        *(action, asked, Lane.FORESAIL, ASKED),
        f"replicas asked for before the rise: {{details}}{shadow}",
        detail=f"{_short(action)} {action.replicas_after} instead of {action.replicas_before}",
    )
    if action.ready_seconds is not None:
        yield _occurrence(
            *(action, action.ready_seconds, Lane.KUBELET, READY),
            "the replicas asked for are ready: {of}",
            lag=action.ready_seconds - asked,
        )
    if outcome.rise_seconds is not None:
        yield _occurrence(
            *(action, outcome.rise_seconds, Lane.DEMAND, RISE),
            f"the rise comes: {{of}}; {action.service} passes {number(action.level)} requests/s",
        )
    elif outcome.settled:
        yield _occurrence(
            *(action, action.due_seconds, Lane.DEMAND, NO_RISE),
            "the rise has not come until it was due: {of}",
        )


def _world_steps(one: Settled) -> Iterator[Occurrence]:
    worlds = (
        (one.outcome.here, Lane.DEMAND, "requests fail: {of}, {details}"),
        (
            one.outcome.there,
            Lane.UNTOUCHED,
            "in the world without us requests fail: {of}; {details}",
        ),
    )
    for world, lane, text in worlds:
        if world is not None and world.fails_seconds is not None:
            yield _occurrence(
                *(one.action, world.fails_seconds, lane, FAILS),
                text,
                detail=f"{number(world.failed)} of {_short(one.action)}",
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
