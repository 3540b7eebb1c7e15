"""`foresail learn gate`: whether a policy's file may act; the answer goes into its card."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from bus.exit_codes import ExitCode
from foresail.learn.comparing import add_workloads, compare
from foresail.learn.showing import card_lines
from foresail.output import console, print_json
from lab.experiments.code_version import code_version
from lab.learning.comparison.contestants import exported, learned_arm
from lab.learning.comparison.gate import judge_gate, with_gate
from lab.learning.export.export import write_policy
from services.learned_policy.file import read_policy

EXAMPLES = (
    ("learn gate ppo.policy --workload lublin-256", "exit code 0 when it may act, and its card says so"),
)  # fmt: skip
MODULES = ("lab.learning.simulator", "lab.learning.observation", "lab.learning.comparison.learned_rule")  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("policy", metavar="FILE", help="a policy that `learn export` wrote")
    add_workloads(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Play it beside the rules, write the answer into its card and say it; 0 is yes, 1 no.

    Raises:
        InputError: the file is no policy of Kueue's admission, or a workload cannot be used.
    """
    path = Path(arguments.policy)
    policy, arm = read_policy(path), learned_arm(read_policy(path).card.name, [exported(path)])
    judgements = compare(arguments, [arm]).judgements
    answer = judge_gate(judgements, arm.name)
    card = with_gate(policy.card, judgements, answer, code_version(MODULES))
    write_policy(replace(policy, card=card), path)
    if arguments.json:
        print_json({"passes": answer.passes, "reasons": answer.reasons})
    else:
        verdict = "passes" if answer.passes else "does not pass"
        lines = [f"{card.name} {verdict}", *(f"  {reason}" for reason in answer.reasons)]
        console().print("\n".join([*lines, *card_lines(card)]), markup=False, soft_wrap=True)
    return ExitCode.GOOD if answer.passes else ExitCode.DIFFERS
