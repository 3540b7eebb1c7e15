"""A what-if as one HTML page that needs no network and no other file."""

from __future__ import annotations

from foresail.decision_strip import counts_text, decision_strip
from foresail.html_page import render
from lab.rerun.what_if import Result
from projections.policy_totals import comparison_rows


def what_if_page(result: Result, assertions: dict[str, bool]) -> str:
    """Return the page's text."""
    changed = ", ".join(f"{name} = {value}" for name, value in result.changes.items())
    changed = changed or ("other rules" if result.rules else "nothing changed")
    return render(
        "what_if.html",
        title=f"What if: {changed}",
        what_if=result,
        assertions=assertions,
        strip=decision_strip(result.listed, *result.cycles),
        rows=comparison_rows(result.baseline, result.changed),
        counts=counts_text(result.classes),
        result=result.as_json(),
    )
