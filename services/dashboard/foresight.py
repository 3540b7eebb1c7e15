"""The panel on foresight: of the Service with the most to tell, what was foreseen, done and spared. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from projections.figures import number, signed_text
from projections.foresight.course import Course
from projections.foresight.foreseen import Foreseen
from projections.foresight.log import ForesightLog, Settled
from projections.foresight.text import action_text, headline, outcome_texts, without_text

KEPT_ACTIONS = 40
"""Settled rises that the page remembers."""
BEFORE_SECONDS = 900.0
"""Shown of the time before the forecast, at most."""
MARGIN_SECONDS = 120.0
BEYOND_SECONDS = 1_800.0
"""Shown of what is foreseen, at least; more where the time has come."""
Json = dict[str, Any]


def foresight_json(log: ForesightLog) -> Json | None:
    """Return the panel; None while nothing is foreseen of any Service."""
    acted = [one for one in log.outcomes() if one.rise.carried_out]
    if acted:
        told = max(acted, key=_told)
        return _of_action(log, told, len({one.rise.service for one in acted}))
    rising = [(_rise_ratio(known[-1]), name) for name, known in log.foreseen.items() if known]
    if not rising:
        return None
    name = max(rising, key=lambda one: (one[0], one[1]))[1]
    newest = log.foreseen[name][-1]
    peak = max(newest.bands, key=lambda band: band.middle)
    heading = f"{name}: {number(peak.middle)} requests/s are foreseen in {number(peak.horizon_seconds / 60.0)} min"
    content = {"service": name, "heading": heading, "lines": [], "marks": [], "others": 0}
    return content | _curves(log, name, "", newest, newest.made_seconds)


def _told(one: Settled) -> tuple[float, float]:
    """Return how much there is to tell: requests spared, then how new it is."""
    return one.outcome.spared or 0.0, one.rise.first.decided_seconds


def _rise_ratio(foreseen: Foreseen) -> float:
    return foreseen.highest_middle / max(1.0, foreseen.newest)


def _of_action(log: ForesightLog, one: Settled, services: int) -> Json:
    rise, outcome = one.rise, one.outcome
    action, there = rise.first, outcome.there
    content: Json = {
        "service": action.service,
        "heading": headline(rise, outcome),
        "lines": [
            f"{line[:1].upper()}{line[1:]}."
            for line in (
                action_text(action, outcome),
                *outcome_texts(rise, outcome),
                f"without the forecast {without_text(action)}",
            )
        ],
        "cycle": action.cycle,
        "model": action.ground.model,
        "failed": outcome.here.failed,
        "untouched_failed": None if there is None else there.failed,
        "worth": None
        if outcome.worth is None
        else f"{signed_text(outcome.worth)} {action.currency}",
        "marks": _marks(one),
        "others": services - 1,
    }
    foreseen = action.foreseen or Foreseen("", 0, action.ground.made_seconds, 0.0, action.bands)
    since = min(action.spoke_seconds, action.ground.made_seconds)
    return content | _curves(log, action.service, action.workload, foreseen, since)


def _marks(one: Settled) -> list[Json]:
    """Return the moments to mark, in their order."""
    action = one.rise.first
    moments = (
        ("foreseen", action.spoke_seconds),
        ("asked", action.executed_seconds),
        ("ready", action.ready_seconds),
        ("rise", one.outcome.rise_seconds),
    )
    return [{"name": name, "at": at} for name, at in moments if at is not None]


def _curves(
    log: ForesightLog, service: str, workload: str, foreseen: Foreseen, since: float
) -> Json:
    here, there = log.here.get(service), log.there.get(service)
    workload = workload or ("" if here is None else here.counters.workload)
    first = log.seen_seconds if here is None or not here.minutes else here.minutes[0].end_seconds
    earliest = min(first, since, known_step_seconds(foreseen))
    begin = max(since - BEFORE_SECONDS, earliest - MARGIN_SECONDS)
    end = max(log.seen_seconds, foreseen.made_seconds + BEYOND_SECONDS)
    return {
        "from": begin,
        "to": end,
        "now": log.seen_seconds,
        "measured": _minutes(here, begin, log.bears.get(workload)),
        "untouched": None if there is None else _minutes(there, begin, log.bears.get(workload)),
        "band": _band(foreseen, end),
    }


def _minutes(course: Course | None, begin: float, bears: float | None) -> Json:
    """Return the minutes that are over, or nearly: requests a second, failed ones, and what the replicas bear."""
    minutes = [] if course is None else list(course.between(begin, course.seen_seconds))
    return {
        "at": [one.end_seconds for one in minutes],
        "rate": [round(one.rate, 3) for one in minutes],
        "failed": [round(one.failed / one.seconds, 3) for one in minutes],
        "ready": [one.ready for one in minutes],
        "bears": [None if bears is None else round(one.ready * bears, 3) for one in minutes],
    }


def _band(foreseen: Foreseen, end: float) -> Mapping[str, Sequence[float | None]]:
    """Return the band from the newest step that was known, each step at its middle, cut off at `end`."""
    start = [known_step_seconds(foreseen), *(foreseen.newest,) * 5]
    points: list[list[float | None]] = [list(start)]
    for band in foreseen.bands:
        at = band.end_seconds - band.step_seconds / 2.0
        ends = [band.lowest, band.low, band.middle, band.high, band.highest]
        if at >= end:
            points.append(_between(points[-1], [at, *ends], end))
            break
        points.append([at, *ends])
    names = ("at", "lowest", "low", "middle", "high", "highest")
    return {name: [one[place] for one in points] for place, name in enumerate(names)}


def known_step_seconds(foreseen: Foreseen) -> float:
    """Return the middle of the newest step that was known when it was made."""
    first = foreseen.bands[0]
    return first.end_seconds - first.horizon_seconds - first.step_seconds / 2.0


def _between(
    before: Sequence[float | None], after: Sequence[float | None], at: float
) -> list[float | None]:
    """Return the point at a moment on the straight line between two."""
    begin, end = before[0], after[0]
    assert begin is not None
    assert end is not None
    share = (at - begin) / (end - begin)
    values = (
        None if low is None or high is None else low + share * (high - low)
        for low, high in zip(before[1:], after[1:], strict=True)
    )
    return [at, *values]
