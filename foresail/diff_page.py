"""A comparison of two recordings as one page."""

from __future__ import annotations

from foresail.decision_strip import counts_text, decision_strip
from foresail.html_page import render
from lab.rerun.diff import Diff
from projections.policy_totals import comparison_rows


def diff_page(difference: Diff) -> str:
    """Return the page's text."""
    a, b = difference.sides
    return render(
        "diff.html",
        title=f"{a.file} and {b.file}",
        sides=(("A", a), ("B", b)),
        counts=counts_text(difference.classes),
        strip=decision_strip(difference.listed, *difference.cycles),
        rows=comparison_rows(a.totals, b.totals),
        settings=difference.settings,
        changes=difference.listed,
        result=difference.as_json(),
    )
