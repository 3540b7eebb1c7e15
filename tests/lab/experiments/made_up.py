"""Made-up results for tests of statistics and reports: drawn here, never measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from lab.experiments.results import TrialResult
from lab.experiments.spec import Experiment, Split

SCORE = "score_dollars_per_hour"


def experiment(
    arms: Sequence[str] = ("none", "baseline-rules"),
    workloads: Sequence[str] = ("web", "batch"),
    seeds: int = 10,
    *,
    arm: str = "baseline-rules",
    guards: Sequence[Mapping[str, Any]] = (),
    metric: str = SCORE,
    resamples: int = 400,
) -> Experiment:
    """Return a small experiment: arms against `none`, the first workload's split and the others' development."""
    return Experiment.model_validate({
        "name": "made-up",
        "question": "Is made-up data read correctly?",
        "arms": [{"name": name, **({"base": name} if name in BASES else {})} for name in arms],
        "workloads": [{"name": name} for name in workloads],
        "seeds": {"count": seeds},
        "hypothesis": {"arm": arm, "against": arms[0], "metric": metric},
        "guards": list(guards),
        "inference": {"resamples": resamples},
    })  # fmt: skip


BASES = ("none", "hpa", "hpa+ca", "hpa+karpenter", "baseline-rules", "without-safety")

Metrics = Callable[[str, str, int, Random], Mapping[str, float]]


def results(
    of: Experiment, metrics: Metrics, seed: int = 1, split: Split = "development"
) -> list[TrialResult]:
    """Return a result for each trial; `metrics` is given arm, workload, seed, and chance shared by a world's arms."""
    return [
        TrialResult(
            fingerprint=f"{trial.arm.name}/{trial.workload.name}/{trial.seed}",
            workload=trial.workload.name,
            arm=trial.arm.name,
            seed=trial.seed,
            metrics=dict(
                metrics(
                    trial.arm.name,
                    trial.workload.name,
                    trial.seed,
                    Random(f"{seed}/{trial.workload.name}/{trial.seed}"),
                )
            ),
            pressure=((300.0, float(trial.seed)), (600.0, 2.0 * trial.seed)),
        )
        for trial in of.trials(split)
    ]


def shifted(by: Mapping[str, float], noise: float = 1.0, metric: str = SCORE) -> Metrics:
    """Return one metric: a base that all arms of a world share, the arm's shift, and its own noise."""

    def draw(arm: str, workload: str, seed: int, random: Random) -> Mapping[str, float]:
        base = random.gauss(-20.0, 5.0)
        own = Random(f"{arm}/{workload}/{seed}").gauss(0.0, noise)
        return {metric: base + by.get(arm, 0.0) + own}

    return draw
