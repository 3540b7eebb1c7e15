"""What a cycle of an experiment's trial costs: CPU milliseconds by arm.

`python -m benchmarks.trial_cost [--workload web] [--arms none foresail] [--minutes 20] [--after 5]` plays the first
minutes of a trial of `experiments/headline.toml` under each arm in this process, on virtual time and without a
recording, and prints the CPU time of a cycle after `--after` minutes: what happens once is over then. The state hash of
the simulated cluster stands beside it, so that two versions of the code can be compared: they played the same.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.machine import parser, progress, report
from foresail.experiment.folder import plan_for
from foresail.experiment.trial import run_trial
from lab.experiments.arms import Arm, arm_of
from lab.experiments.spec import Trial
from schemas.envelope import Event
from schemas.observation import Observation

EXPERIMENT = Path("experiments/headline.toml")
ARMS = ("none", "hpa+karpenter", "foresail", "hpa+karpenter+foresail")


def main() -> int:
    """Play each arm once and print the figures."""
    made = parser(__doc__)
    made.add_argument("--workload", default="web", help="one of the experiment's")
    made.add_argument("--arms", nargs="+", default=ARMS, help="names of built-in arms")
    made.add_argument("--minutes", type=float, default=20.0, help="cluster time of a trial")
    made.add_argument("--after", type=float, default=5.0, help="minutes from which cycles count")
    options = made.parse_args()
    trials = [task.trial for task in plan_for(EXPERIMENT, "development", None).tasks]
    trial = next((trial for trial in trials if trial.workload.name == options.workload), None)
    if trial is None:
        sys.stderr.write(f"--workload: {options.workload} is none of {EXPERIMENT}\n")
        return 2
    rows = []
    with progress(quiet=options.json) as shown:
        task = shown.add_task("trials", total=len(options.arms))
        for name in options.arms:
            arm = Arm.model_validate(arm_of(name))
            world = trial.world.model_copy(
                update={"warm_up": 0.0, "length": 60.0 * options.minutes}
            )
            rows.append(
                play(replace(trial, world=world, arm=arm, seed=options.seed), options.after)
            )
            shown.advance(task)
    report("Cycles of a trial", options, rows, f"{EXPERIMENT}, {options.workload}; no target")
    return 0


def play(trial: Trial, after_minutes: float) -> dict[str, Any]:
    """Play a trial and return its figures."""
    marks: list[float] = []

    def note(event: Event[Any]) -> None:
        if isinstance(event.data, Observation):
            marks.append(time.process_time())

    played = run_trial(trial, "", None, note)
    first = min(round(60.0 * after_minutes / trial.world.cycle), len(marks) - 2)
    cycles = len(marks) - 1 - first
    return {
        "arm": trial.arm.name,
        "CPU ms a cycle": 1_000.0 * (marks[-1] - marks[first]) / cycles,
        "cycles": cycles,
        "whole, CPU s": played.cost.cpu_seconds,
        "state": played.result.digest[:12],
    }


if __name__ == "__main__":
    sys.exit(main())
