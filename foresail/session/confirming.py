"""The winner of a search, played once on the test split beside the arm that it came from, and judged by the gate."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.experiment.checks import check_trials
from foresail.experiment.folder import note_collected
from foresail.experiment.trial import run_task
from foresail.output import console
from foresail.session.place import folder_of
from foresail.session.profile_file import profile_text, tables_of
from lab.experiments.arms import Arm
from lab.experiments.code_version import code_version
from lab.experiments.gate import GateResult, judge
from lab.experiments.run import Plan
from lab.experiments.run import run as run_plan
from lab.experiments.spec import Experiment, Hypothesis, read_experiment
from lab.experiments.statistics import analyse
from lab.sessions.arm_settings import arm_settings
from lab.sessions.search import Search
from lab.sessions.study import Best


def confirm(arguments: argparse.Namespace, search: Search, best: Best) -> ExitCode:
    """Play, judge, and write the settings if the gate passes; a search is confirmed once.

    Raises:
        InputError: the experiment cannot be used, or this study was confirmed before.
    """
    folder = folder_of(arguments.state, f"tune-{search.study}")
    kept = folder / "confirmed.json"
    if kept.exists():
        remedy = f"its answer stands in {kept}; the test split is looked at once"
        raise InputError("--confirm", search.study, remedy)
    experiment = confirming_experiment(read_experiment(Path(arguments.confirm)), search, best)
    plan = Plan(
        experiment, "test", folder / "confirm", code_version(), "none", jobs=os.cpu_count() or 1
    )
    check_trials(experiment, "test")
    results = list(run_plan(plan, run_task, lambda: False))
    note_collected(plan, results, "gate")
    answer = judge(analyse(experiment, results, "test"))
    evidence = {
        "study": search.study, "trial": best.number, "settings": best.parameters, "passes": answer.passes,
        "reasons": list(answer.reasons), "evidence": list(answer.evidence), "code": plan.code,
    }  # fmt: skip
    kept.write_text(json.dumps(evidence, indent=2) + "\n", encoding="utf-8")
    said = "passes" if answer.passes else "does not pass"
    lines = [f"the winner {said}", *(f"  {one}" for one in (*answer.reasons, *answer.evidence))]
    console().print("\n".join(lines), markup=False, soft_wrap=True)
    if answer.passes:
        path = Path(arguments.profile_out)
        tuned = experiment.arm("tuned")
        path.write_text(profile_of(search, best, tuned, answer, plan.code), encoding="utf-8")
        console().print(f"its settings stand in {path}", markup=False, soft_wrap=True)
    return answer.exit_code


def confirming_experiment(experiment: Experiment, search: Search, best: Best) -> Experiment:
    """Return the experiment of the hypothesis' arm with the winner's settings against the same arm without.

    Raises:
        InputError: the settings do not fit the arm, or the experiment has no test workload.
    """
    if not any(workload.split == "test" for workload in experiment.workloads):
        raise InputError("--confirm", experiment.name, "none of its workloads is of the test split")
    chosen = {**search.fixed, **best.parameters}
    base = experiment.arm(experiment.hypothesis.arm)
    if str(chosen.pop("arm", base.name)) != base.name:
        raise InputError(
            "--confirm", experiment.name, "its hypothesis is about another arm than the search"
        )
    try:
        tuned = Arm.model_validate(
            {
                **base.model_dump(),
                "name": "tuned",
                "base": None,
                "settings": arm_settings(chosen, base.settings),
            }
        )
    except ValueError as error:
        raise InputError("--confirm", json.dumps(chosen), " ".join(str(error).split())) from error
    hypothesis = Hypothesis(
        arm="tuned", against=base.name, metric=experiment.hypothesis.metric,
        price_factors=experiment.hypothesis.price_factors,
    )  # fmt: skip
    return experiment.model_copy(
        update={
            "name": f"{search.study}-confirmed",
            "arms": (base, tuned),
            "hypothesis": hypothesis,
        }
    )


def profile_of(search: Search, best: Best, arm: Arm, answer: GateResult, code: str) -> str:
    """Return an arm's settings as a TOML file for `foresail up --config`, its evidence as comments."""
    beside = (
        [] if arm.provisioner == "none" else [f"It ran beside --provisioner {arm.provisioner}."]
    )
    found = f"Found by the study {search.study}, trial {best.number}; the gate passed on the test split, code {code}."
    return profile_text(tables_of(arm.settings), [found, *beside, *answer.evidence])
