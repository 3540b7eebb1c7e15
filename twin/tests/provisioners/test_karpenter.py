"""Karpenter does what its documentation and sources say, case by case."""

from __future__ import annotations

from typing import Any

TABLE = "karpenter"
PROVISIONER = "karpenter"


def test_case(case: dict[str, Any], play: Any) -> None:
    """Each row of the table comes out as it says, through the API alone."""
    play(case)
