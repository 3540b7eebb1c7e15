"""Whether a search by TPE finds better settings than chance does with as many trials.

A trial plays the arm `baseline-rules` for ten minutes in one small development world, on virtual time in this process;
what is searched are its cool-down and the thresholds of its agents, the objective is the outcome score.

    python -m benchmarks.search_beats_random [--trials 60] [--repeats 5] [--plot FILE.svg]
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.machine import parser
from bus.errors import InputError
from foresail.session.job_action import play_experiment
from lab.sessions.payloads import ExperimentPayload
from lab.sessions.study import load_optuna

WORLD = Path("tests/lab/experiments/mixed_world.csv").absolute()
EXPERIMENT = f"""
name = "tiny"
arms = ["none", "baseline-rules"]
[world]
nodes = 10
warm_up = "2m"
length = "10m"
[[workloads]]
name = "mixed"
plays = "{WORLD}"
[hypothesis]
arm = "baseline-rules"
against = "none"
"""
SPACE = {
    "executor.cool_down_seconds": (5.0, 600.0),
    "agents.efficiency.sleep_demand_ratio": (0.0, 0.15),
    "agents.efficiency.dvfs_demand_ratio": (0.16, 0.34),
    "agents.efficiency.balloon_demand_ratio": (0.35, 0.9),
    "agents.safety.throttle_risk_ratio": (0.3, 0.6),
    "agents.safety.migrate_risk_ratio": (0.61, 0.78),
    "agents.safety.replicate_risk_ratio": (0.79, 0.97),
}


def main() -> int:
    """Print the best score of each repeat, and both medians; 1 when chance is as good."""
    given = parser(__doc__)
    given.add_argument("--trials", type=int, default=60)
    given.add_argument("--repeats", type=int, default=5)
    given.add_argument("--plot", type=Path)
    arguments = given.parse_args()
    began = time.perf_counter()
    with TemporaryDirectory() as name:
        file = Path(name) / "tiny.toml"
        file.write_text(EXPERIMENT)
        payload = ExperimentPayload(kind="experiment", file=str(file), seeds=1)
        courses = {
            sampler: [
                _search(payload, sampler, arguments.seed + number, arguments.trials)
                for number in range(arguments.repeats)
            ]
            for sampler in ("tpe", "random")
        }  # fmt: skip
    best = {sampler: [round(one[-1], 4) for one in some] for sampler, some in courses.items()}
    medians = {sampler: statistics.median(some) for sampler, some in best.items()}
    found = {"best": best, "medians": medians, "seconds": round(time.perf_counter() - began)}
    print(
        json.dumps(found)
        if arguments.json
        else f"best after {arguments.trials} trials: {best}; medians {medians}"
    )
    if arguments.plot is not None:
        _plot(courses, arguments.plot)
    return 0 if medians["tpe"] > medians["random"] else 1


def _search(payload: ExperimentPayload, sampler: str, seed: int, trials: int) -> list[float]:
    """Return the best score so far after each trial."""
    optuna = load_optuna()
    kinds = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}
    study = optuna.create_study(direction="maximize", sampler=kinds[sampler](seed=seed))
    course: list[float] = []

    def objective(trial: Any) -> float:
        config = {name: trial.suggest_float(name, low, high) for name, (low, high) in SPACE.items()}
        try:
            result = play_experiment(payload, {"arm": "baseline-rules", **config})
        except InputError as error:
            raise optuna.TrialPruned from error
        score: float = result["metrics"]["score_dollars_per_hour"]
        course.append(max(score, course[-1]) if course else score)
        return score

    study.optimize(objective, n_trials=trials)
    return course


def _plot(courses: dict[str, list[list[float]]], path: Path) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - only where a picture is asked for

    mpl.use("svg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(8, 4))
    for place, (sampler, some) in enumerate(courses.items()):
        for number, course in enumerate(some):
            label = sampler if number == 0 else None
            axes.plot(range(1, len(course) + 1), course, color=f"C{place}", alpha=0.6, label=label)
    axes.set_xlabel("trials")
    axes.set_ylabel("best outcome score so far, $/h")
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    sys.exit(main())
