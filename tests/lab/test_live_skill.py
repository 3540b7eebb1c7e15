"""Skill of risk predictions, added up from logs."""

from __future__ import annotations

from typing import Any

from lab.forecast.live_skill import row_of, sums_of


def events(ratios: dict[str, float], failed: int, uncertain: list[str]) -> list[dict[str, Any]]:
    """Return a prediction and its score, of which the first node was an alarm."""
    table = {"ids": list(ratios), "risk_ratio": list(ratios.values())}
    data = {"model_id": "m", "cycle": 1, "cluster_time_seconds": 7_200.0}
    certain = [ratio for name, ratio in ratios.items() if name not in uncertain]
    brier = sum((ratio - (place < failed)) ** 2 for place, ratio in enumerate(certain))
    hits = min(1, failed)
    score = {
        "targets": len(certain), "positives": failed, "brier": brier / len(certain),
        "hits": hits, "false_alarms": 1 - hits,
    }  # fmt: skip
    return [
        {"subject": "a.prediction.risk", "data": {**data, "status": "result", "nodes": table}},
        {"subject": "a.outcome.forecast", "data": {**data, "risk": score, "uncertain_targets": uncertain}},
    ]  # fmt: skip


def test_uncertain_targets_are_left_out() -> None:
    """Expected and observed are of the same targets, and a constant is that of the run's own rate."""
    (sums,) = sums_of([events({"a": 0.5, "b": 0.0, "c": 0.9}, failed=1, uncertain=["c"])]).values()

    assert row_of(sums) == "| m | 2 | 1 | 0.50 | +0.500 | 1 of 1 | 2.0 |"


def test_runs_are_clusters_of_the_interval() -> None:
    """Two runs that agree give a narrow interval, two that do not a wide one, however many nodes they have."""
    good = events({"a": 0.9, "b": 0.1, "c": 0.1}, failed=1, uncertain=[])
    bad = events({"a": 0.1, "b": 0.9, "c": 0.9}, failed=1, uncertain=[])
    (alike,) = sums_of([good, good]).values()
    (unlike,) = sums_of([good, bad]).values()

    assert "+0.955 (+0.955 to +0.955)" in row_of(alike)
    low = float(row_of(unlike).split("(")[1].split(" to ")[0])
    assert low < -10.0


def test_a_prediction_without_a_score_counts_for_nothing() -> None:
    """As at the end of a log."""
    assert sums_of([events({"a": 0.5}, failed=0, uncertain=[])[:1]]) == {}
