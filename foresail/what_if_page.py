"""A what-if as one HTML page that needs no network and no other file."""

from __future__ import annotations

from html import escape

from foresail.decision_strip import decision_strip
from foresail.html_page import figures_table, page_text
from lab.rerun.what_if import Result
from projections.figures import duration
from projections.policy_totals import comparison_rows


def what_if_page(result: Result, assertions: dict[str, bool]) -> str:
    """Return the page's text."""
    changed = ", ".join(f"{name} = {value}" for name, value in result.changes.items())
    changed = changed or ("other rules" if result.rules else "nothing changed")
    parts = [
        f"<p class=loop>{escape(result.loop)}</p>",
        *(f"<p>{escape(note)}</p>" for note in result.notes),
        f"<p>{escape(result.file)}, {_span(result)} of recorded time.</p>",
        _assertions_html(assertions),
        decision_strip(result.listed, *result.cycles),
        figures_table(
            (result.baseline_name, "now"), comparison_rows(result.baseline, result.changed)
        ),
        _decisions(result),
    ]
    return page_text(f"What if: {changed}", parts, result.as_json())


def _span(result: Result) -> str:
    return f"cycles {result.cycles[0]} to {result.cycles[1]}, {duration(result.recorded_seconds)}"


def _assertions_html(assertions: dict[str, bool]) -> str:
    return "".join(
        f"<p class={'good' if holds else 'bad'}>{'holds' if holds else 'does not hold'}: "
        f"<code>{escape(text)}</code></p>"
        for text, holds in assertions.items()
    )


def _decisions(result: Result) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in result.classes.items())
    body = "".join(
        f"<tr><td class=n>{one.cycle}<td>{one.kind}<td>{escape(one.before)}<br><small>"
        f"{escape(one.before_why)}</small><td>{escape(one.after)}<br><small>"
        f"{escape(one.after_why)}</small>"
        for one in result.listed
    )
    table = (
        f"<table><tr><th>cycle<th><th>{escape(result.baseline_name)}<th>now{body}</table>"
        if body
        else ""
    )
    return f"<h2>Decisions: {counts}</h2>{table}"
