"""Skill of risk predictions, added up from a log."""

from __future__ import annotations

from typing import Any

from lab.forecast.live_skill import sums_of


def events(ratios: dict[str, float], failed: int, uncertain: list[str]) -> list[dict[str, Any]]:
    """Return a prediction and its score."""
    table = {"ids": list(ratios), "risk_ratio": list(ratios.values())}
    data = {"model_id": "m", "cycle": 1}
    certain = [ratio for name, ratio in ratios.items() if name not in uncertain]
    brier = sum((ratio - (place < failed)) ** 2 for place, ratio in enumerate(certain))
    score = {"targets": len(certain), "positives": failed, "brier": brier / len(certain)}
    return [
        {"subject": "a.prediction.risk", "data": {**data, "status": "result", "nodes": table}},
        {"subject": "a.outcome.forecast", "data": {**data, "risk": score, "uncertain_targets": uncertain}},
    ]  # fmt: skip


def test_uncertain_targets_are_left_out() -> None:
    """Expected and observed are of the same targets, and a constant is that of the run's own rate."""
    (sums,) = sums_of(events({"a": 0.5, "b": 0.0, "c": 0.9}, failed=1, uncertain=["c"])).values()

    assert (2, 1, 0.5) == (sums.targets, sums.positives, sums.expected)
    assert sums.line("m").startswith("m: 2 predictions, 1 failures, expected / observed 0.50")
    assert sums.line("m").endswith("Brier 0.1250, constant 0.2500, skill 0.500")


def test_a_prediction_without_a_score_counts_for_nothing() -> None:
    """As at the end of a log."""
    assert sums_of(events({"a": 0.5}, failed=0, uncertain=[])[:1]) == {}
