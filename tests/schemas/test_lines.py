"""What events say as one line for people."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.run import RunComplete


@pytest.mark.parametrize(
    ("summary", "line"),
    [
        (
            {"cycles": 1, "events_total": 1791, "decisions": {}},
            "complete after 1 cycle, 1,791 events",
        ),
        ({"events_total": 12}, "complete after 12 events"),
        ({"cycles": "many"}, "complete"),
    ],
)
def test_the_end_of_a_run_says_after_how_much(summary: dict[str, Any], line: str) -> None:
    """Cycles and events where the summary counts them, never its JSON."""
    complete = RunComplete(run_id="i1", process="stack", status="complete", summary=summary)

    assert complete.line() == line
