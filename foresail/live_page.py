"""The comparison of two clusters as one HTML page that needs no network and no other file."""

from __future__ import annotations

from foresail.html_page import render
from lab.experiments.report import without_nan
from lab.live.markdown import BOUNDARY, HEADINGS, comparison_json, summary_lines
from lab.live.sections import comparison_sections
from lab.live.windows import Comparison


def live_page(comparison: Comparison) -> str:
    """Return the page's text."""
    first, second = comparison.names
    return render(
        "comparison.html",
        title=f"{first} beside {second}",
        summary=summary_lines(comparison),
        headings=HEADINGS,
        sections=list(comparison_sections(comparison)),
        boundary=BOUNDARY,
        result=without_nan(comparison_json(comparison)),
    )
