"""Defects in how decisions are made and carried out."""

from __future__ import annotations

from proofs.planted.defect import Defect

DECISIONS = (
    Defect(
        "a referee's tie goes to the last",
        "services/referee/candidate.py",
        "return max(canonical(candidates), key=",
        "return max(reversed(canonical(candidates)), key=",
        "tests/referee/test_ruling.py::test_a_tie_goes_to_the_first_in_canonical_order",
    ),
)
