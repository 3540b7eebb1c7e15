"""An incident as one self-contained page: nothing is loaded from elsewhere, and it reads without
scripts.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

from foresail.timeline.drawing import drawing
from foresail.timeline.terminal import TITLES, duration_text, end_of, lag, lag_words, lead, places
from projections.incidents.executions import EXECUTED
from projections.incidents.incident import Incident, Lane, Step
from projections.times import clock, cluster_clock


def page_of(incident: Incident) -> str:
    """Return the page."""
    template = files("foresail.timeline").joinpath("page.html").read_text(encoding="utf-8")
    title = f"incident {incident.number}: {TITLES[incident.kind]}"
    state = "over" if incident.end_seconds is not None else "still going on"
    when = f"{clock(incident.begin_seconds)} to {cluster_clock(end_of(incident))}, {state}"
    return Template(template).substitute(
        title=escape(title),
        heading=escape(title[0].upper() + title[1:]),
        when=escape(when),
        where=escape(places(incident)),
        cards="".join(_card(name, value) for value, name in _figures(incident)),
        drawing=drawing(incident),
        rows="".join(_row(number, step) for number, step in enumerate(incident.steps)),
        notes=escape(
            f"Prediction: {lead(incident)}. Times are the cluster's, lags count from the beginning."
        ),
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
        name = f"longest wait of {wait.pods} pods: {wait.pending_class}"
        figures.append((duration_text(wait.max_seconds), name))
    own = [
        step for step in incident.steps if step.kind == EXECUTED and step.since_begin_seconds >= 0
    ]
    if own:
        figures.append((duration_text(own[0].since_begin_seconds), "until our first action"))
    return figures


def _card(name: str, value: str) -> str:
    return f'<div class="card"><b>{escape(value)}</b><span>{escape(name)}</span></div>'


def _row(number: int, step: Step) -> str:
    style = ' class="damage"' if step.damage else ""
    cells = (
        clock(step.time_seconds),
        lag(step.since_begin_seconds),
        step.lane,
        step.text + lag_words(step),
    )
    shown = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return f'<tr id="row-{number}"{style}>{shown}</tr>\n'
