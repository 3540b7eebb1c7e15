"""From an incident's damage to its chain: who did what when, each step with its lag. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import median

from foresail.timeline.acting import our_acts
from foresail.timeline.alarms import alarms_of
from foresail.timeline.curves import curves_of
from foresail.timeline.damage import WAIT_SECONDS, Wait, damages, waits
from foresail.timeline.demand import demand_of
from foresail.timeline.detector import classes_of, found_in, kind_of
from foresail.timeline.gathered import Gathered
from foresail.timeline.incident import (
    DamageKind,
    Found,
    Happening,
    Incident,
    Lane,
    Span,
    Step,
    WaitGroup,
)
from foresail.timeline.reacting import reactions_of

PAUSE_SECONDS, PAUSE_RATIO = 60.0, 0.1
"""Happenings of one kind are one step until a pause longer than 60 s, or than a tenth of the incident.
"""
LOOK_BACK_SECONDS = 600.0
"""How far before the first damage its causes and alarms are looked for."""


def incidents(gathered: Gathered) -> list[Incident]:
    """Return every incident of a log, oldest first, numbered from 1."""
    found = found_in(damages(gathered), gathered.last_seconds)
    waited = waits(gathered)
    return [told(gathered, one, number, waited) for number, one in enumerate(found, start=1)]


def told(gathered: Gathered, found: Found, number: int, waited: Sequence[Wait]) -> Incident:
    """Return one incident with its chain."""
    damage, last = found.begin_seconds, gathered.last_seconds
    end = found.end_seconds
    since = damage - LOOK_BACK_SECONDS
    until = last if end is None else end
    nodes = _nodes(gathered, found)
    demand = demand_of(gathered, found, nodes, since)
    begin = min([damage, *(one.time_seconds for one in demand)])
    alarms = alarms_of(gathered, nodes, damage, since, until)
    happenings = [
        *demand,
        *(one.happening for one in alarms),
        *reactions_of(gathered, found, begin, until),
        *our_acts(gathered, found, nodes, since, until),
    ]
    own = [one for one in waited if _belongs(one, found, gathered)]
    spans = tuple(
        Span(
            kind=one.kind,
            subject=one.subject,
            pending_class=classes_of(one),
            begin_seconds=one.begin_seconds,
            end_seconds=one.end_seconds,
        )
        for one in found.damages
    )
    return Incident(
        number=number,
        kind=kind_of(found),
        begin_seconds=begin,
        damage_seconds=damage,
        end_seconds=end,
        last_seconds=last,
        nodes=found.nodes,
        workloads=found.workloads,
        steps=steps_of(happenings, begin, max(PAUSE_SECONDS, PAUSE_RATIO * (until - begin))),
        waits=_wait_groups(own, last),
        spans=spans,
        alarms=tuple(one.alarm for one in alarms),
        curves=curves_of(gathered, nodes, since, until),
    )


def steps_of(
    happenings: Iterable[Happening], begin_seconds: float, pause_seconds: float
) -> tuple[Step, ...]:
    """Group happenings into steps, in order of their first; a pause begins a new step."""
    groups: list[list[Happening]] = []
    newest: dict[tuple[str, str], list[Happening]] = {}
    for one in sorted(happenings, key=lambda one: (one.time_seconds, one.seq)):
        key = (one.lane, one.group)
        group = newest.get(key)
        if group is None or one.time_seconds - group[-1].time_seconds > pause_seconds:
            newest[key] = group = []
            groups.append(group)
        group.append(one)
    steps = [_step(group, begin_seconds) for group in groups]
    order = list(Lane)
    return tuple(
        sorted(steps, key=lambda one: (one.time_seconds, order.index(one.lane), one.seq, one.text))
    )


def _step(group: Sequence[Happening], begin_seconds: float) -> Step:
    first = group[0]
    lags = [one.lag_seconds for one in group if one.lag_seconds is not None]
    return Step(
        lane=first.lane,
        kind=first.kind,
        time_seconds=first.time_seconds,
        until_seconds=group[-1].time_seconds,
        count=len(group),
        since_begin_seconds=first.time_seconds - begin_seconds,
        lag_median_seconds=median(lags) if lags else None,
        lag_max_seconds=max(lags) if lags else None,
        lag_since=next((one.since for one in group if one.since), ""),
        text=_text(group),
        damage=first.damage,
        seq=first.seq,
        cycle=first.cycle,
    )


def _text(group: Sequence[Happening]) -> str:
    """Return what a step says; `{n}` and `{of}` in its first text mean how many and of what."""
    count = len(group)
    text = group[0].text.replace("{n}", str(count))
    text = re.sub(r"\b1 pods\b", "1 pod", text)
    text = text.replace("{details}", ", ".join(dict.fromkeys(one.detail for one in group)))
    return text.replace("{of}", named(sorted({one.workload for one in group if one.workload})))


def named(names: Sequence[str]) -> str:
    """Return names shortly: one or two as they are, more as their number and an example."""
    if len(names) <= 2:
        return " and ".join(names) or "bare pods"
    return f"{len(names)} workloads such as {names[0]}"


def _nodes(gathered: Gathered, found: Found) -> frozenset[str]:
    """Return the nodes of an incident: its own, and those that its workloads ran on before."""
    workloads = set(found.workloads)
    ran = {
        told.item.node
        for told in gathered.told
        if told.item.node
        and told.item.workload in workloads
        and told.item.time_seconds < found.begin_seconds
    }
    return frozenset({*found.nodes} or ran)


def _belongs(wait: Wait, found: Found, gathered: Gathered) -> bool:
    own = {one.subject for one in found.damages if one.kind is DamageKind.WAITING}
    return wait.pod in own and wait.seconds(gathered.last_seconds) >= WAIT_SECONDS


def _wait_groups(own: Sequence[Wait], last_seconds: float) -> tuple[WaitGroup, ...]:
    by_class: dict[str, list[Wait]] = {}
    for wait in own:
        by_class.setdefault(str(wait.pending_class(last_seconds)), []).append(wait)
    return tuple(
        WaitGroup(
            pending_class=name,
            pods=len(found),
            median_seconds=median(one.seconds(last_seconds) for one in found),
            max_seconds=max(one.seconds(last_seconds) for one in found),
            still_waiting=sum(one.end_seconds is None for one in found),
        )
        for name, found in sorted(by_class.items(), key=lambda one: (-len(one[1]), one[0]))
    )
