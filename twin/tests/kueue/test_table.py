"""The table of Kueue's behaviour can be read by its own rules."""

from __future__ import annotations

from twin.tests.kueue.table import ACTIONS, CASES, OBJECTS


def test_every_case_has_a_source_and_known_steps() -> None:
    """A case names a page or a file of Kueue's, does something, and says what is seen then; no two have one name."""
    assert len(CASES) >= 40
    assert len({case["case"] for case in CASES}) == len(CASES)
    for case in CASES:
        assert ".md" in case["source"] or ".go" in case["source"], case["case"]
        words = [word for step in case["steps"] for word in step]
        assert len(words) == len(case["steps"]), case["case"]
        assert set(words) <= {*OBJECTS, *ACTIONS}, case["case"]
        assert words[-1] in ("expect", "refused"), case["case"]
