"""What each stimulus did to both clusters: one window a stimulus, with the time to recover behind it. Where no stimulus
says where to cut, windows of equal length.

A window begins when the load was applied, and ends when it was taken away; the recovery lasts until the next
stimulus. Levels hold from one look to the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lab.live.figures import ROWS
from lab.live.history import ClusterHistory, ClusterSample

_HOUR = 3_600.0


@dataclass(frozen=True, slots=True)
class SideWindow:
    """One cluster during one stimulus."""

    looks: int
    rows: dict[str, float]
    """Mean of each of `figures.ROWS` over the window's looks."""
    card: dict[str, float]
    """Of the scorecards, by name; NaN where it does not apply or was not seen."""


@dataclass(frozen=True, slots=True)
class StimulusWindow:
    """One stimulus in both clusters."""

    sequence: int
    phase: str
    pods: int
    """Pods asked for, the same of both."""
    unschedulable: bool
    """Whether they fit nowhere, on purpose."""
    seconds: float
    """How long the load was on, by the first cluster's log."""
    skew_seconds: float
    """How much later one cluster's log has the stimulus than the other's."""
    sides: tuple[SideWindow, SideWindow]


@dataclass(frozen=True, slots=True)
class SkippedStimulus:
    """A stimulus that neither cluster got."""

    sequence: int
    phase: str
    status: str
    text: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that two histories say beside each other."""

    names: tuple[str, str]
    windows: tuple[StimulusWindow, ...]
    skipped: tuple[SkippedStimulus, ...]
    one_sided: tuple[int, ...]
    """Stimuli that only one of the two logs has; none is compared."""
    damage: tuple[str, ...]
    """Why a log could not be read to its end."""


@dataclass(frozen=True, slots=True)
class _Span:
    """A stimulus in one log: when it was on, and until when its effects are looked at; or a time without one."""

    sequence: int
    begin: float
    end: float
    until: float
    phase: str = ""
    pods: int = 0
    unschedulable: bool = False


def compare(first: ClusterHistory, second: ClusterHistory) -> Comparison:
    """Return the comparison of two clusters' histories."""
    spans = [_spans(history) for history in (first, second)]
    windows = [
        _window(spans[0][sequence], spans[1][sequence], first, second)
        for sequence in sorted(spans[0].keys() & spans[1].keys())
    ]
    skipped = tuple(
        SkippedStimulus(mark.data.sequence, mark.data.name, mark.data.status, mark.data.text)
        for mark in first.stimuli
        if mark.data.status in ("skipped", "failed")
    )
    damage = tuple(f"{one.name}: {one.damage}" for one in (first, second) if one.damage)
    return Comparison(
        (first.name, second.name),
        tuple(windows),
        skipped,
        tuple(sorted(spans[0].keys() ^ spans[1].keys())),
        damage,
    )


def compare_by_time(
    first: ClusterHistory, second: ClusterHistory, window_seconds: float
) -> Comparison:
    """Return the comparison of two histories on one time axis, in windows from the first look of both on.

    What is left behind the last whole window is not compared.
    """
    sides = (first.samples, second.samples)
    windows = []
    if all(sides):
        begin = max(samples[0].at_seconds for samples in sides)
        end = min(samples[-1].at_seconds for samples in sides)
        for number in range(max(0, int((end - begin) // window_seconds))):
            at = begin + number * window_seconds
            span = _Span(number, at, at + window_seconds, at + window_seconds)
            windows.append(_window(span, span, first, second))
    damage = tuple(f"{one.name}: {one.damage}" for one in (first, second) if one.damage)
    return Comparison((first.name, second.name), tuple(windows), (), (), damage)


def _spans(history: ClusterHistory) -> dict[int, _Span]:
    """Return the stimuli that were applied and taken away again, by their number."""
    failed = {mark.data.sequence for mark in history.stimuli if mark.data.status == "failed"}
    begun = {
        mark.data.sequence: mark
        for mark in history.stimuli
        if mark.data.status == "applied" and mark.data.sequence not in failed
    }
    ended = {
        mark.data.sequence: mark for mark in history.stimuli if mark.data.status == "cleaned_up"
    }
    starts = sorted(mark.at_seconds for mark in begun.values())
    return {
        sequence: _Span(
            sequence,
            mark.at_seconds,
            ended[sequence].at_seconds,
            min((at for at in starts if at > mark.at_seconds), default=math.inf),
            mark.data.name,
            mark.data.replicas,
            mark.data.unschedulable,
        )
        for sequence, mark in begun.items()
        if sequence in ended
    }


def _window(
    first: _Span, second: _Span, history: ClusterHistory, other: ClusterHistory
) -> StimulusWindow:
    return StimulusWindow(
        sequence=first.sequence,
        phase=first.phase,
        pods=first.pods,
        unschedulable=first.unschedulable,
        seconds=first.end - first.begin,
        skew_seconds=abs(first.begin - second.begin),
        sides=(_side(first, history.samples), _side(second, other.samples)),
    )


def _side(span: _Span, samples: Sequence[ClusterSample]) -> SideWindow:
    during = [one for one in samples if span.begin <= one.at_seconds < span.end]
    after = [one for one in samples if span.end <= one.at_seconds < span.until]
    before = [one for one in samples if one.at_seconds < span.begin]
    whole = [*before[-1:], *during, *after]
    rows = {name: _mean(_values(during, name)) for name in ROWS}
    card = {
        **_safety(span, during, whole),
        **_efficiency(during, whole),
        **_admission(span, during),
        **_adaptation(span, before, during, after),
    }
    return SideWindow(len(during), rows, card)


def _safety(
    span: _Span, during: Sequence[ClusterSample], whole: Sequence[ClusterSample]
) -> dict[str, float]:
    pressures = _values(during, "highest_pressure")
    return {
        "unhealthy_pod_seconds": _area(during, span.end, "unhealthy"),
        "restarts": _rise(whole, "restarts_ever"),
        "evictions": _rise(whole, "evictions_ever"),
        "highest_pressure": max(pressures, default=math.nan),
        "requests_not_served": _rise(whole, "requests_failed_ever")
        + _rise(whole, "requests_lost_ever"),
    }


def _efficiency(
    during: Sequence[ClusterSample], whole: Sequence[ClusterSample]
) -> dict[str, float]:
    money = [(one.at_seconds, one.money) for one in whole if one.money is not None]
    score = math.nan
    if len(money) > 1 and money[-1][0] > money[0][0]:
        (begin, before), (end, after) = money[0], money[-1]
        score = (after - before) / ((end - begin) / _HOUR)
    return {
        "workers": _mean(_values(during, "workers_ready")),
        "watts": _mean(_values(during, "watts")),
        "cpu_requested_ratio": _mean(_values(during, "cpu_requested_ratio")),
        "score": score,
    }


def _admission(span: _Span, during: Sequence[ClusterSample]) -> dict[str, float]:
    asked = float(span.pods)
    waiting = _values(during, "pods_pending")
    served = math.nan
    if asked and not span.unschedulable and during:
        ready = _area(during, span.end, "stimulus_ready", lambda level: min(asked, level))
        seconds = span.end - during[0].at_seconds
        served = ready / (asked * seconds) if seconds > 0.0 else math.nan
    return {
        "pending_pod_seconds": _area(during, span.end, "pods_pending"),
        "most_pending": max(waiting, default=math.nan),
        "served_ratio": served,
        "removed_replica_seconds": _area(
            during, span.end, "stimulus_wanted", lambda level: max(0.0, asked - level)
        ),
    }


def _adaptation(
    span: _Span,
    before: Sequence[ClusterSample],
    during: Sequence[ClusterSample],
    after: Sequence[ClusterSample],
) -> dict[str, float]:
    asked = float(span.pods)
    ready = math.nan
    if asked and not span.unschedulable:
        ready = _seconds_until(
            during, span.begin, span.end, lambda one: _value(one, "stimulus_ready") >= asked
        )
    calm = (_values(before, "pods_pending") or [0.0])[-1]
    whole = [*before[-1:], *during, *after]
    return {
        "ready_seconds": ready,
        "recovery_seconds": _seconds_until(
            after,
            span.end,
            after[-1].at_seconds if after else math.nan,
            lambda one: _value(one, "pods_pending") <= calm,
        ),
        "activations": _moves(whole, "workers_schedulable", lambda step: max(0.0, step)),
        "replica_changes": _moves(whole, "replicas_elsewhere", abs),
    }


def _value(sample: ClusterSample, name: str) -> float:
    return sample.figures.get(name, math.nan)


def _values(samples: Sequence[ClusterSample], name: str) -> list[float]:
    """Return what was seen; looks that did not show it are left out."""
    values = (_value(sample, name) for sample in samples)
    return [value for value in values if not math.isnan(value)]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _area(
    samples: Sequence[ClusterSample],
    end: float,
    name: str,
    level: Callable[[float], float] = lambda value: value,
) -> float:
    """Return the sum of level times seconds; a level holds until the next look that shows it."""
    shown = [
        (one.at_seconds, _value(one, name)) for one in samples if not math.isnan(_value(one, name))
    ]
    if not shown:
        return math.nan
    ends = [*(at for at, _ in shown[1:]), end]
    return math.fsum(
        level(value) * (until - at) for (at, value), until in zip(shown, ends, strict=True)
    )


def _moves(samples: Sequence[ClusterSample], name: str, counts: Callable[[float], float]) -> float:
    """Return the sum over steps from look to look; NaN with fewer than two looks that show it."""
    values = _values(samples, name)
    if len(values) < 2:
        return math.nan
    return math.fsum(counts(new - old) for old, new in pairwise(values))


def _rise(samples: Sequence[ClusterSample], name: str) -> float:
    values = _values(samples, name)
    return values[-1] - values[0] if len(values) > 1 else math.nan


def _seconds_until(
    samples: Sequence[ClusterSample],
    begin: float,
    end: float,
    reached: Callable[[ClusterSample], bool],
) -> float:
    """Return the time to the first look at which it was so; the whole time where it never was."""
    if not samples:
        return math.nan
    return next((one.at_seconds for one in samples if reached(one)), end) - begin
