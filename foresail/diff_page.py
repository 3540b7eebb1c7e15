"""A comparison of two recordings as one page."""

from __future__ import annotations

from html import escape

from foresail.decision_strip import decision_strip
from foresail.html_page import figures_table, page_text
from lab.rerun.diff import Diff
from projections.policy_totals import comparison_rows


def diff_page(difference: Diff) -> str:
    """Return the page's text."""
    a, b = difference.sides
    sides = "".join(
        f"<li>{letter}: {escape(side.file)}, {escape(side.cluster)}, {side.events:,} messages, "
        f"{side.totals.decisions:,} decisions, {side.alone} of cycles only here"
        + (
            f"; <span class=bad>read up to the damage: {escape(side.damage)}</span>"
            if side.damage
            else ""
        )
        for letter, side in (("A", a), ("B", b))
    )
    counts = ", ".join(f"{count} {name}" for name, count in difference.classes.items())
    parts = [
        f"<ul>{sides}</ul>",
        f"<h2>Decisions of the same cycle: {counts}</h2>",
        decision_strip(difference.listed, *difference.cycles),
        figures_table(("A", "B"), comparison_rows(a.totals, b.totals)),
        _settings(difference),
        _differing(difference),
    ]
    return page_text(f"{a.file} and {b.file}", parts, difference.as_json())


def _settings(difference: Diff) -> str:
    body = "".join(
        f"<tr><td>{escape(name)}<td>{escape(str(before))}<td>{escape(str(after))}"
        for name, before, after in difference.settings
    )
    return (
        f"<h2>Settings that differ</h2><table><tr><th>setting<th>A<th>B{body}</table>"
        if body
        else ""
    )


def _differing(difference: Diff) -> str:
    body = "".join(
        f"<tr><td class=n>{one.cycle}<td>{one.kind}<td>{escape(one.before)}<br><small>"
        f"{escape(one.before_why)}</small><td>{escape(one.after)}<br><small>{escape(one.after_why)}</small>"
        for one in difference.listed
    )
    return (
        f"<h2>Where they part</h2><table><tr><th>cycle<th><th>A<th>B{body}</table>" if body else ""
    )
