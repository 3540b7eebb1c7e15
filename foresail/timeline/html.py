"""An incident as one self-contained page: nothing is loaded from elsewhere, and it reads without
scripts.
"""

from __future__ import annotations

from dataclasses import dataclass

from foresail.html_page import render
from foresail.timeline.drawing import drawing
from foresail.timeline.terminal import (
    TITLES,
    acting_line,
    duration_text,
    end_of,
    lag,
    lag_words,
    lead,
    places,
)
from projections.figures import signed_text
from projections.incidents.executions import EXECUTED
from projections.incidents.incident import Incident, Lane, Step
from projections.times import clock, cluster_clock
from schemas.wording import count_text


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A line of the chain."""

    cells: tuple[str, ...]
    damage: bool


def page_of(incident: Incident) -> str:
    """Return the page."""
    title = f"incident {incident.number}: {TITLES[incident.kind]}"
    state = "over" if incident.end_seconds is not None else "still going on"
    return render(
        "timeline.html",
        title=title,
        heading=title[0].upper() + title[1:],
        when=f"{clock(incident.begin_seconds)} to {cluster_clock(end_of(incident))}, {state}",
        where=places(incident),
        cards=_figures(incident),
        drawing=drawing(incident),
        rows=[_row(step) for step in incident.steps],
        acting=acting_line(incident),
        verdict="" if incident.acting is None else incident.acting.verdict,
        notes=f"Prediction: {lead(incident)}. Times are the cluster's, lags count from the beginning.",
    )


def _figures(incident: Incident) -> list[tuple[str, str]]:
    """Return the few numbers that sum it up, each with its name."""
    figures = [
        (duration_text(end_of(incident) - incident.begin_seconds), "from its beginning to its end")
    ]
    ahead = incident.lead_seconds
    if ahead is None:
        figures.append(("none", "lead of the prediction"))
    else:
        word = "lead of the prediction" if ahead >= 0 else "the prediction came late by"
        figures.append((duration_text(ahead), word))
    scaled = [step for step in incident.steps if step.lane is Lane.AUTOSCALER]
    if scaled:
        figures.append((duration_text(scaled[0].since_begin_seconds), "until the autoscaler acted"))
    for wait in incident.waits[:2]:
        name = f"longest wait of {count_text(wait.pods, 'pod')}: {wait.pending_class}"
        figures.append((duration_text(wait.max_seconds), name))
    own = [
        step for step in incident.steps if step.kind == EXECUTED and step.since_begin_seconds >= 0
    ]
    if own:
        figures.append((duration_text(own[0].since_begin_seconds), "until our first action"))
    change = incident.acting
    if change is not None:
        money = f"{signed_text(change.money)} {change.currency}"
        figures.append((money, f"what acting changed in that time: {change.verdict}"))
    return figures


def _row(step: Step) -> TimelineRow:
    cells = (
        clock(step.time_seconds),
        lag(step.since_begin_seconds),
        str(step.lane),
        step.text + lag_words(step),
    )
    return TimelineRow(cells, step.damage)
