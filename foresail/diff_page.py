"""A comparison of two recordings as one page."""

from __future__ import annotations

from html import escape

from foresail.decision_strip import decision_strip
from foresail.html_page import figures_table, page_text
from lab.rerun.diff import Diff
from projections.policy_totals import comparison_rows


def diff_page(found: Diff) -> str:
    """Return the page's text."""
    a, b = found.sides
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
    counts = ", ".join(f"{count} {name}" for name, count in found.classes.items())
    parts = [
        f"<ul>{sides}</ul>",
        f"<h2>Decisions of the same cycle: {counts}</h2>",
        decision_strip(found.listed, *found.cycles),
        figures_table(("A", "B"), comparison_rows(a.totals, b.totals)),
        _settings(found),
        _differing(found),
    ]
    return page_text(f"{a.file} and {b.file}", parts, found.as_json())


def _settings(found: Diff) -> str:
    body = "".join(
        f"<tr><td>{escape(name)}<td>{escape(str(before))}<td>{escape(str(after))}"
        for name, before, after in found.settings
    )
    return (
        f"<h2>Settings that differ</h2><table><tr><th>setting<th>A<th>B{body}</table>"
        if body
        else ""
    )


def _differing(found: Diff) -> str:
    body = "".join(
        f"<tr><td class=n>{one.cycle}<td>{one.kind}<td>{escape(one.before)}<br><small>"
        f"{escape(one.before_why)}</small><td>{escape(one.after)}<br><small>{escape(one.after_why)}</small>"
        for one in found.listed
    )
    return (
        f"<h2>Where they part</h2><table><tr><th>cycle<th><th>A<th>B{body}</table>" if body else ""
    )
