"""`foresail experiment gate FILE`: whether the hypothesis' arm may be taken into use, by exit code."""

from __future__ import annotations

import argparse

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.experiment.folder import add_experiment, note_collected, plan_of
from foresail.experiment.run_notes import note_arm_gate, note_effects
from foresail.gates import KeptGate, keep_gate
from foresail.output import console, print_json
from foresail.run_log import add_run
from lab.experiments.gate import GateResult, judge
from lab.experiments.results import ResultFolder
from lab.experiments.run import Plan
from lab.experiments.statistics import analyse
from services.agents.profiles import PROFILES

EXAMPLES = (
    ("experiment gate experiments/short.toml", "exit code 0 when the arm may be taken into use"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_experiment(parser)
    parser.add_argument("--keep", action="store_true",
                        help="keep the answer for `foresail up --profile list`")  # fmt: skip
    add_run(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Say yes or no, and why; 0 is yes, 1 no.

    Raises:
        InputError: the experiment cannot be used, or its arm is no profile and `--keep` is given.
    """
    plan = plan_of(arguments)
    results = ResultFolder(plan.folder).read(task.fingerprint for task in plan.tasks)
    note_collected(plan, results, "gate")
    analysis = analyse(plan.experiment, results, plan.split)
    answer = judge(analysis)
    note_effects(analysis)
    note_arm_gate(analysis, answer)
    if arguments.keep:
        keep_gate(_kept(plan, answer))
    if arguments.json:
        print_json(
            {"passes": answer.passes, "reasons": answer.reasons, "evidence": answer.evidence}
        )
    else:
        verdict = "passes" if answer.passes else "does not pass"
        lines = [
            f"{plan.experiment.hypothesis.arm} {verdict}",
            *(f"  {reason}" for reason in answer.reasons),
        ]
        console().print("\n".join(lines), markup=False, soft_wrap=True)
    return answer.exit_code


def _kept(plan: Plan, answer: GateResult) -> KeptGate:
    arm = plan.experiment.hypothesis.arm
    if arm not in PROFILES:
        raise InputError("--keep", arm, f"use an experiment about a profile: {', '.join(PROFILES)}")
    return KeptGate(
        profile=arm,
        experiment=plan.experiment.name,
        split=plan.split,
        seeds=plan.experiment.seeds.count,
        code=plan.code,
        passes=answer.passes,
        first_reason=(answer.reasons if not answer.passes else answer.evidence)[0],
    )
