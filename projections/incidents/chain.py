"""From an incident's damage to its chain: who did what when, each step with its lag."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import median

from projections.foresight.log import Settled
from projections.incidents.acting import acting_change
from projections.incidents.alarms import alarms_of
from projections.incidents.curves import curves_of, request_curves
from projections.incidents.damage import WAIT_SECONDS, Wait, damages, waits
from projections.incidents.demand import demand_rise
from projections.incidents.executions import own_executions
from projections.incidents.foreseen_rises import (
    autoscaler_steps,
    carried_out,
    foreseen_alarm,
    foreseen_damage,
    foreseen_groups,
    foreseen_steps,
    lags_behind,
    rise_or_due,
)
from projections.incidents.grouping import group_damages, kind_of, pending_class_of
from projections.incidents.history import ClusterHistory
from projections.incidents.incident import (
    DamageGroup,
    DamageKind,
    DamagePeriod,
    Incident,
    IncidentKind,
    Lane,
    Occurrence,
    Step,
    WaitGroup,
)
from projections.incidents.reactions import reactions_of
from schemas.wording import count_text

PAUSE_SECONDS, PAUSE_RATIO = 60.0, 0.1
"""Occurrences of one kind are one step until a pause longer than 60 s, or than a tenth of the incident.
"""
LOOK_BACK_SECONDS = 600.0
"""How far before the first damage its causes and alarms are looked for."""


def incidents(history: ClusterHistory) -> list[Incident]:
    """Return every incident of a log, oldest first, numbered from 1."""
    groups = group_damages(damages(history), history.last_seconds)
    waited = waits(history)
    rises = carried_out(history.foresight.outcomes())
    lags = [group for group in groups if any(lags_behind(group, one) for one in rises)]
    found, left = [], rises
    for group in groups:
        if group not in lags:
            own = [one for one in left if _led_to(one, group, history)]
            left = [one for one in left if one not in own]
            found.append(_incident(history, group, waited, own))
    found += [foreseen_incident(history, group, lags) for group in foreseen_groups(left)]
    ordered = sorted(found, key=lambda one: one.damage_seconds)
    return [
        one.model_copy(update={"number": number}) for number, one in enumerate(ordered, start=1)
    ]


def _led_to(one: Settled, group: DamageGroup, history: ClusterHistory) -> bool:
    """Say whether the rise that was foreseen led to a damage at its workload."""
    end = history.last_seconds if group.end_seconds is None else group.end_seconds
    within = group.begin_seconds - LOOK_BACK_SECONDS <= rise_or_due(one) <= end
    return within and one.rise.first.workload in group.workloads


def _incident(
    history: ClusterHistory, group: DamageGroup, waited: Sequence[Wait], foreseen: Sequence[Settled]
) -> Incident:
    """Return one incident with its chain, not numbered yet."""
    damaged, last = group.begin_seconds, history.last_seconds
    end = group.end_seconds
    since = damaged - LOOK_BACK_SECONDS
    until = last if end is None else end
    nodes = _nodes(history, group)
    demand = demand_rise(history, group, nodes, since)
    begin = min([damaged, *(rise.time_seconds for rise in demand)])
    alarms = alarms_of(history, nodes, damaged, since, until)
    occurrences = [
        *demand,
        *(announcement.occurrence for announcement in alarms),
        *foreseen_steps(foreseen),
        *reactions_of(history, group, begin, until),
        *own_executions(history, group, nodes, since, until),
    ]
    own = [wait for wait in waited if _belongs(wait, group, history)]
    spans = tuple(
        DamagePeriod(
            kind=damage.kind,
            subject=damage.subject,
            pending_class=pending_class_of(damage),
            begin_seconds=damage.begin_seconds,
            end_seconds=damage.end_seconds,
        )
        for damage in group.damages
    )
    said = (foreseen_alarm(foreseen, damaged),) if foreseen else ()
    return Incident(
        number=0,
        kind=kind_of(group),
        begin_seconds=begin,
        damage_seconds=damaged,
        end_seconds=end,
        last_seconds=last,
        nodes=group.nodes,
        workloads=group.workloads,
        steps=steps_of(occurrences, begin, _pause(until - begin)),
        waits=_wait_groups(own, last),
        spans=spans,
        alarms=(*said, *(announcement.alarm for announcement in alarms)),
        curves=curves_of(history, nodes, since, until),
        acting=acting_change(history.differences, begin, until),
    )


def foreseen_incident(
    history: ClusterHistory, group: Sequence[Settled], lags: Sequence[DamageGroup]
) -> Incident:
    """Return a rise that did no damage here but to autoscalers as an incident, not numbered yet."""
    spans = tuple(foreseen_damage(group))
    behind = [lag for lag in lags if any(lags_behind(lag, one) for one in group)]
    steps = [*foreseen_steps(group), *autoscaler_steps(history, behind)]
    begin = min(rise_or_due(one) for one in group)
    last = history.last_seconds
    failing = [span.end_seconds for span in spans if span.end_seconds is not None]
    until = min(last, max([*(rise_or_due(one) for one in group), *failing]))
    damaged = min((span.begin_seconds for span in spans), default=begin)
    since = min(one.rise.first.spoke_seconds for one in group)
    return Incident(
        number=0,
        kind=IncidentKind.RISE_FORESEEN,
        begin_seconds=begin,
        damage_seconds=damaged,
        end_seconds=until if until < last else None,
        last_seconds=last,
        nodes=(),
        workloads=tuple(sorted({one.rise.first.workload for one in group})),
        steps=steps_of(steps, begin, _pause(until - since)),
        waits=(),
        spans=spans,
        alarms=(foreseen_alarm(group, damaged),),
        curves=request_curves(history, group, since, until),
        acting=acting_change(history.differences, since, until),
    )


def _pause(length_seconds: float) -> float:
    return max(PAUSE_SECONDS, PAUSE_RATIO * length_seconds)


def steps_of(
    occurrences: Iterable[Occurrence], begin_seconds: float, pause_seconds: float
) -> tuple[Step, ...]:
    """Group occurrences into steps, in order of their first; a pause begins a new step."""
    groups: list[list[Occurrence]] = []
    newest: dict[tuple[str, str], list[Occurrence]] = {}
    for occurrence in sorted(occurrences, key=lambda item: (item.time_seconds, item.seq)):
        key = (occurrence.lane, occurrence.group)
        group = newest.get(key)
        if group is None or occurrence.time_seconds - group[-1].time_seconds > pause_seconds:
            newest[key] = group = []
            groups.append(group)
        group.append(occurrence)
    steps = [_step(group, begin_seconds) for group in groups]
    order = list(Lane)
    return tuple(
        sorted(
            steps, key=lambda step: (step.time_seconds, order.index(step.lane), step.seq, step.text)
        )
    )


def _step(group: Sequence[Occurrence], begin_seconds: float) -> Step:
    first = group[0]
    lags = [item.lag_seconds for item in group if item.lag_seconds is not None]
    return Step(
        lane=first.lane,
        kind=first.kind,
        time_seconds=first.time_seconds,
        until_seconds=group[-1].time_seconds,
        count=len(group),
        since_begin_seconds=first.time_seconds - begin_seconds,
        lag_median_seconds=median(lags) if lags else None,
        lag_max_seconds=max(lags) if lags else None,
        lag_since=next((item.since for item in group if item.since), ""),
        text=_text(group),
        damage=first.damage,
        seq=first.seq,
        cycle=first.cycle,
    )


def _text(group: Sequence[Occurrence]) -> str:
    """Return what a step says; `{n}` and `{of}` in its first text mean how many and of what."""
    count = len(group)
    text = group[0].text.replace("{n}", str(count))
    text = re.sub(r"\b1 pods\b", "1 pod", text)
    text = text.replace("{details}", ", ".join(dict.fromkeys(item.detail for item in group)))
    return text.replace(
        "{of}", names_text(sorted({item.workload for item in group if item.workload}))
    )


def names_text(names: Sequence[str]) -> str:
    """Return names shortly: one or two as they are, more as their number and an example."""
    if len(names) <= 2:
        return " and ".join(names) or "bare pods"
    return f"{count_text(len(names), 'workload')} such as {names[0]}"


def _nodes(history: ClusterHistory, group: DamageGroup) -> frozenset[str]:
    """Return the nodes of an incident: its own, and those that its workloads ran on before."""
    ran = history.ran_on(set(group.workloads), group.begin_seconds)
    return frozenset({*group.nodes} or ran)


def _belongs(wait: Wait, group: DamageGroup, history: ClusterHistory) -> bool:
    own = {
        (damage.subject, damage.begin_seconds)
        for damage in group.damages
        if damage.kind is DamageKind.WAITING
    }
    mine = (wait.pod, wait.begin_seconds) in own  # a pod of the same name may wait again
    return mine and wait.seconds(history.last_seconds) >= WAIT_SECONDS


def _wait_groups(own: Sequence[Wait], last_seconds: float) -> tuple[WaitGroup, ...]:
    by_class: dict[str, list[Wait]] = {}
    for wait in own:
        by_class.setdefault(str(wait.pending_class(last_seconds)), []).append(wait)
    return tuple(
        WaitGroup(
            pending_class=name,
            pods=len(members),
            median_seconds=median(wait.seconds(last_seconds) for wait in members),
            max_seconds=max(wait.seconds(last_seconds) for wait in members),
            still_waiting=sum(wait.end_seconds is None for wait in members),
        )
        for name, members in sorted(by_class.items(), key=lambda item: (-len(item[1]), item[0]))
    )
