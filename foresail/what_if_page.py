"""A what-if as one HTML page that needs no network and no other file."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from foresail.stack.preflight import check_writable
from lab.rerun.what_if import Result
from projections.figures import duration, number, signed_text
from projections.policy_totals import comparison_rows

STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1d2730}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.25rem .8rem;border-bottom:1px solid #d8dfe5;
text-align:left;vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}
.loop{background:#fff4d6;padding:.6rem .9rem;border-radius:.3rem}.bad{color:#a4161a}.good{color:#1b6b3a}
@media(prefers-color-scheme:dark){body{background:#12181d;color:#dde5ec}td,th{border-color:#334049}
.loop{background:#4a3b10}}
"""


def write_page(path: Path, result: Result, assertions: dict[str, bool]) -> None:
    """Write the page; a half-written one never stands under its name.

    Raises:
        InputError: it cannot be written.
    """
    check_writable("--html", path)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(page_of(result, assertions), encoding="utf-8")
    partial.replace(path)


def page_of(result: Result, assertions: dict[str, bool]) -> str:
    """Return the page's text."""
    changed = ", ".join(f"{name} = {value}" for name, value in result.changes.items()) or "nothing"
    content = json.dumps(result.as_json(), ensure_ascii=True).replace("<", "\\u003c")
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        f"<title>What if: {escape(changed)}</title><style>{STYLE}</style>",
        f"<h1>What if: {escape(changed)}</h1><p class=loop>{escape(result.loop)}</p>",
        "".join(f"<p>{escape(note)}</p>" for note in result.notes),
        f"<p>{escape(result.file)}, {_span(result)} of recorded time.</p>",
        _figures(result),
        _asserted(assertions),
        _decisions(result),
        f'<script type="application/json" id="result">{content}</script></html>',
    ]
    return "\n".join(parts)


def _span(result: Result) -> str:
    return f"cycles {result.cycles[0]} to {result.cycles[1]}, {duration(result.recorded_seconds)}"


def _figures(result: Result) -> str:
    body = "".join(
        f"<tr><td>{escape(name)}<td class=n>{number(before)}<td class=n>{number(after)}"
        f"<td class=n>{signed_text(after - before)}"
        for name, before, after in comparison_rows(result.baseline, result.changed)
    )
    return f"<table><tr><th>figure<th>{escape(result.baseline_name)}<th>now<th>difference{body}</table>"


def _asserted(assertions: dict[str, bool]) -> str:
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
