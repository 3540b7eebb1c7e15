"""The results of a session as one HTML page that needs no network: parallel coordinates, slices, the Pareto front."""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from bus.errors import InputError
from foresail.html_page import write_page
from lab.sessions.aggregate import RankedResult, Ranking, SessionResults

MOST_DIMENSIONS = 12
HEIGHT_PIXELS = 460


def write_aggregate_page(
    path: Path, results: SessionResults, ranking: Ranking, goals: Sequence[str]
) -> None:
    """Write the page; `goals` are the figures of the Pareto front.

    Raises:
        InputError: plotly is not installed, or the file cannot be written.
    """
    try:
        figures: Any = import_module("plotly.graph_objects")
        subplots: Any = import_module("plotly.subplots")
    except ImportError as error:
        raise InputError("--html", path, "install plotly: pip install 'foresail[tune]'") from error
    shown = [one for one in ranking.results if one.value is not None]
    parts = []
    if shown:
        names = _varying(shown)
        parts.append(("Parallel coordinates", _parallel(figures, shown, names, ranking.rank_by)))
        if names:
            parts.append(("Slices", _slices(figures, subplots, shown, names, ranking.rank_by)))
        if len(goals) == 2:
            parts.append(("Pareto front", _front(figures, shown, ranking, goals)))
    write_page(path, _page(results, ranking, parts))


def _varying(shown: Sequence[RankedResult]) -> list[str]:
    """Return the names whose values differ between results."""
    names = dict.fromkeys(name for one in shown for name in one.config)
    varying = [name for name in names if len({repr(one.config.get(name)) for one in shown}) > 1]
    return varying[:MOST_DIMENSIONS]


def _parallel(
    figures: Any, shown: Sequence[RankedResult], names: Sequence[str], rank_by: str
) -> Any:
    dimensions = [_dimension(name, [one.config.get(name) for one in shown]) for name in names]
    values = [one.value for one in shown]
    line = {"color": values, "colorscale": "Viridis", "showscale": True}
    return figures.Figure(
        figures.Parcoords(line=line, dimensions=[*dimensions, {"label": rank_by, "values": values}])
    )


def _dimension(name: str, values: Sequence[Any]) -> dict[str, Any]:
    """Return one axis: numbers as they are, anything else by its place among the values."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return {"label": name, "values": list(values)}
    texts = [str(value) for value in values]
    known = sorted(set(texts))
    return {
        "label": name,
        "values": [known.index(text) for text in texts],
        "tickvals": list(range(len(known))),
        "ticktext": known,
    }


def _slices(
    figures: Any, subplots: Any, shown: Sequence[RankedResult], names: Sequence[str], rank_by: str
) -> Any:
    figure = subplots.make_subplots(rows=1, cols=len(names), shared_yaxes=True)
    for column, name in enumerate(names, start=1):
        points = figures.Scatter(
            x=[one.config.get(name) for one in shown],
            y=[one.value for one in shown],
            mode="markers",
            text=[one.job_id for one in shown],
            showlegend=False,
        )
        figure.add_trace(points, row=1, col=column)
        figure.update_xaxes(title_text=name, row=1, col=column)
    figure.update_yaxes(title_text=rank_by, row=1, col=1)
    return figure


def _front(
    figures: Any, shown: Sequence[RankedResult], ranking: Ranking, goals: Sequence[str]
) -> Any:
    from lab.sessions.results import figure_of  # noqa: PLC0415

    best = {one.job_id for one in ranking.front}
    figure = figures.Figure()
    for label, some in (
        ("others", [one for one in shown if one.job_id not in best]),
        ("front", [one for one in shown if one.job_id in best]),
    ):
        across, up = ([figure_of(one.names, goal) for one in some] for goal in goals)
        figure.add_trace(
            figures.Scatter(
                x=across, y=up, mode="markers", name=label, text=[one.job_id for one in some]
            )
        )
    figure.update_layout(xaxis_title=goals[0], yaxis_title=goals[1])
    return figure


def _page(results: SessionResults, ranking: Ranking, parts: Sequence[tuple[str, Any]]) -> str:
    bodies = []
    for place, (title, figure) in enumerate(parts):
        figure.update_layout(height=HEIGHT_PIXELS, margin={"l": 80, "r": 40, "t": 60, "b": 60})
        drawn = figure.to_html(full_html=False, include_plotlyjs=place == 0)
        bodies.append(f"<h2>{html.escape(title)}</h2>{drawn}")
    rows = "".join(
        f"<tr><td>{html.escape(one.job_id)}</td><td>{one.value}</td>"
        f"<td>{html.escape(', '.join(f'{name} = {value}' for name, value in one.config.items()))}</td></tr>"
        for one in ranking.results[:50]
    )
    counts = (
        f"{results.total} results, {len(results.errors)} of them errors; "
        f"{len(ranking.results)} passed the filters, ranked by {html.escape(ranking.rank_by)}"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Session results</title>'
        "<style>body{font-family:system-ui,sans-serif;margin:2rem;max-width:1100px}"
        "td,th{text-align:left;padding:.2rem 1rem .2rem 0}</style></head><body>"
        f"<h1>Session results</h1><p>{counts}</p>{''.join(bodies)}"
        f"<h2>Best</h2><table><tr><th>job</th><th>value</th><th>settings</th></tr>{rows}</table>"
        "</body></html>"
    )
