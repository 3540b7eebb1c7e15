"""How good risk predictions were in a run: `foresail tap --recording RUN --json | python -m lab.forecast.live_skill`.

Prints one line for each model that predicted the risk of nodes, active or as a shadow: predictions that could be
scored, those followed by a failure, expected over observed, and the Brier score beside that of a constant that knew the
run's own rate. What stands in `outcome.forecast` is taken as it is; only the predicted numbers are added up here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass
class Sums:
    """Of one model, over the cycles that could be scored."""

    targets: int = 0
    positives: int = 0
    squares: float = 0.0
    expected: float = 0.0

    def line(self, model_id: str) -> str:
        """Return the sums in words."""
        rate = self.positives / self.targets
        constant = rate * (1.0 - rate)
        brier = self.squares / self.targets
        ratio = f"{self.expected / self.positives:.2f}" if self.positives else "-"
        skill = f"{1.0 - brier / constant:.3f}" if constant else "-"
        return (
            f"{model_id}: {self.targets:,} predictions, {self.positives:,} failures, expected / observed {ratio}, "
            f"Brier {brier:.4f}, constant {constant:.4f}, skill {skill}"
        )


def sums_of(events: Iterable[dict[str, Any]]) -> dict[str, Sums]:
    """Return the sums by model, of events in the order of a log."""
    predicted: dict[tuple[str, int], dict[str, float]] = {}
    sums: dict[str, Sums] = {}
    for event in events:
        kind, data = str(event["subject"]), event["data"]
        table = data.get("nodes") if kind.endswith("prediction.risk") else data.get("risk_table")
        if isinstance(table, dict) and "risk_ratio" in table and data["status"] == "result":
            ratios = dict(zip(table["ids"], table["risk_ratio"], strict=True))
            predicted[data["model_id"], data["cycle"]] = ratios
        if not kind.endswith("outcome.forecast"):
            continue
        scored = data["risk"]
        mine = predicted.pop((data["model_id"], data["cycle"]), None)
        if scored is None or scored["brier"] is None or mine is None:
            continue
        uncertain = set(data["uncertain_targets"])
        one = sums.setdefault(data["model_id"], Sums())
        one.targets += scored["targets"]
        one.positives += scored["positives"]
        one.squares += scored["brier"] * scored["targets"]
        one.expected += sum(ratio for name, ratio in mine.items() if name not in uncertain)
    return sums


def main() -> None:
    """Read events as JSON lines and print a line for each model."""
    events = (json.loads(line) for line in sys.stdin if line.strip())
    for model_id, sums in sums_of(events).items():
        print(sums.line(model_id))


if __name__ == "__main__":
    main()
