"""How good a risk model was over several runs: `python -m lab.forecast.live_windows NAME RUN.fslog ...`.

NAME is a model's, without its version. Each prediction that the scoreboard scored counts, active or as a shadow, with
the outcome of each node told anew from the observations by the scoreboard's rule. The constant is each run's own
rate in hindsight, so that a model gains nothing from runs that differ. One node's predictions share their failures:
intervals are of resamples of whole nodes of whole runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bus.events import event_of
from bus.recording import open_recording
from lab.forecast.risk.bootstrap import HIGH_PERCENT, LOW_PERCENT, resamples
from schemas.observation import Observation, ObservedPods
from schemas.outcome import OutcomeForecast
from schemas.prediction import ABSTAINS, PredictionRisk, PredictionShadow, RiskTable
from schemas.view import ObservationView, update_view
from services.scoreboard.pending import failing

READ = ("observation", "prediction.risk", "outcome.forecast")
SHADOWS = "prediction.shadow."
SECONDS_PER_HOUR = 3600.0
SEED = 0

F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scored:
    """Predictions of one run, one row for each node and cycle."""

    node: NDArray[np.int64]
    hour: NDArray[np.int64]
    """Since the run's first prediction."""
    risk: F64
    failed: F64
    abstains: NDArray[np.bool_]

    @property
    def constant_errors(self) -> F64:
        """Squared errors of the run's own rate."""
        rate = self.failed.mean() if len(self.failed) else 0.0
        errors: F64 = (self.failed - rate) ** 2
        return errors

    @property
    def errors(self) -> F64:
        """Squared errors of the model."""
        errors: F64 = (self.risk - self.failed) ** 2
        return errors


@dataclass(frozen=True, slots=True)
class _Prediction:
    cycle: int
    seconds: float
    horizon_seconds: float
    table: RiskTable
    grounds: str


class _Run:
    """What one recording tells of a model."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._view: ObservationView | None = None
        self._pods: ObservedPods | None = None
        self._predictions: dict[tuple[int, int], _Prediction] = {}
        self._looks: list[tuple[float, frozenset[str]]] = []
        self._scored: list[tuple[_Prediction, frozenset[str], float]] = []

    def take(self, event: Any) -> None:
        """Take one event, in the log's order."""
        match event.data:
            case Observation():
                self._look(event)
            case PredictionRisk(nodes=table) as data:
                self._keep(data, 0, table)
            case PredictionShadow(risk_table=RiskTable() as table) as data:
                self._keep(data, data.slot, table)
            case OutcomeForecast(risk=score) as data if score is not None:
                self._close(data)

    def _look(self, event: Any) -> None:
        self._view = update_view(self._view, event)
        if self._view is None:
            return
        failed = failing(self._view.nodes, self._pods, self._view.pods)["attempt_failed"]
        self._pods = self._view.pods
        self._looks.append((self._view.cluster_time_seconds, failed))

    def _keep(self, data: PredictionRisk | PredictionShadow, slot: int, table: RiskTable) -> None:
        if data.model_id.partition("/")[0] != self._name or data.status != "result":
            return
        self._predictions[data.cycle, slot] = _Prediction(
            data.cycle, data.cluster_time_seconds, data.horizon_seconds, table, data.grounds
        )

    def _close(self, data: OutcomeForecast) -> None:
        prediction = self._predictions.pop((data.cycle, data.slot), None)
        if prediction is not None and data.model_id.partition("/")[0] == self._name:
            left_out = frozenset(data.uncertain_targets)
            self._scored.append((prediction, left_out, data.cluster_time_seconds))

    def scored(self) -> Scored:
        """Return every scored prediction with what came of it."""
        numbers: dict[str, int] = {}
        rows: list[tuple[int, int, float, float, bool]] = []
        begun = self._scored[0][0].seconds if self._scored else 0.0
        for prediction, left_out, closed in self._scored:
            failed = self._failed(prediction.seconds, closed)
            letters = prediction.grounds or " " * len(prediction.table)
            hour = int((prediction.seconds - begun) // SECONDS_PER_HOUR)
            columns = zip(prediction.table.ids, prediction.table.risk_ratio, letters, strict=True)
            rows += [
                (numbers.setdefault(node, len(numbers)), hour, risk, float(node in failed),
                 letter == ABSTAINS)
                for node, risk, letter in columns
                if node not in left_out
            ]  # fmt: skip
        table = list(zip(*rows, strict=True)) or [()] * 5
        return Scored(
            np.array(table[0], np.int64),
            np.array(table[1], np.int64),
            np.array(table[2], np.float64),
            np.array(table[3], np.float64),
            np.array(table[4], np.bool_),
        )

    def _failed(self, after: float, until: float) -> frozenset[str]:
        looks = (failed for at, failed in self._looks if after < at <= until)
        return frozenset().union(*looks)


def scored_of(messages: Iterable[Any], name: str) -> Scored:
    """Return the scored predictions of a model in the messages of one log."""
    run = _Run(name)
    for message in messages:
        layer = ".".join(message.subject.split(".")[2:])
        if layer in READ or layer.startswith(SHADOWS):
            run.take(event_of(message))
    return run.scored()


def skill(runs: Sequence[Scored]) -> tuple[float, float, float]:
    """Return the Brier skill over runs, and its 95 % interval over nodes."""
    errors, constants = [], []
    for run in runs:
        nodes = int(run.node.max(initial=-1)) + 1
        errors.append(np.bincount(run.node, weights=run.errors, minlength=nodes))
        constants.append(np.bincount(run.node, weights=run.constant_errors, minlength=nodes))
    model, constant = np.concatenate(errors), np.concatenate(constants)
    if not constant.sum():
        return (float("nan"),) * 3
    weights = resamples(len(model), SEED)
    top, bottom = model @ weights, constant @ weights
    drawn = 1.0 - top[bottom > 0] / bottom[bottom > 0]
    low, high = np.percentile(drawn, [LOW_PERCENT, HIGH_PERCENT])
    return float(1.0 - model.sum() / constant.sum()), float(low), float(high)


def lines(runs: Sequence[tuple[str, Scored]]) -> Iterator[str]:
    """Yield a line for each run, one for all, and one for each hour of all."""
    for title, run in runs:
        yield _line(title, [run])
    every = [run for _, run in runs]
    yield _line("all runs", every)
    for hour in sorted({int(one) for run in every for one in run.hour}):
        chosen = [_part(run, run.hour == hour) for run in every]
        yield _line(f"hour {hour + 1}", chosen)
    for title, abstains in (("with a ground", False), ("abstaining", True)):
        yield _line(title, [_part(run, run.abstains == abstains) for run in every])


def _part(run: Scored, here: NDArray[np.bool_]) -> Scored:
    return Scored(
        run.node[here], run.hour[here], run.risk[here], run.failed[here], run.abstains[here]
    )


def _line(title: str, runs: Sequence[Scored]) -> str:
    rows = sum(len(run.failed) for run in runs)
    failed = sum(float(run.failed.sum()) for run in runs)
    expected = sum(float(run.risk.sum()) for run in runs)
    middle, low, high = skill(runs) if rows else (float("nan"),) * 3
    ratio = f"{expected / failed:.2f}" if failed else "-"
    return f"| {title} | {rows:,} | {failed:,.0f} | {ratio} | {middle:+.4f} ({low:+.4f} to {high:+.4f}) |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; exit code 2 without a model and a run."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if len(given) < 2:
        sys.stderr.write("NAME RUN.fslog ...: name a model and at least one recording\n")
        return 2
    name, *paths = given
    runs = [(Path(path).stem, scored_of(open_recording(Path(path)), name)) for path in paths]
    print(
        "| run | predictions of a node | followed by a failure | expected / observed | Brier skill (95 %) |"
    )
    print("|---|---|---|---|---|")
    for line in lines(runs):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
