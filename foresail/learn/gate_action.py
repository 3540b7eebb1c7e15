"""`foresail learn gate`: whether policies' files may act; the answer goes into their cards."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.experiment.run_notes import note_policy_gate
from foresail.learn.comparing import add_workloads, compare
from foresail.learn.environment_choice import pairs
from foresail.learn.showing import card_lines
from foresail.output import console, print_json
from foresail.run_log import add_run, note_artifact
from lab.experiments.code_version import code_version
from lab.learning.comparison.contestants import exported, learned_arm
from lab.learning.comparison.gate import GateAnswer, judge_gate, with_gate
from lab.learning.export.export import write_policy
from lab.learning.libraries import library
from services.agents.learned_settings import ENVIRONMENT as AGENTS
from services.learned_policy.card import PolicyCard
from services.learned_policy.choice import LearnedPolicy
from services.learned_policy.file import read_policy

EXAMPLES = (
    ("learn gate ppo.policy --workload lublin-256", "exit code 0 when it may act, and its card says so"),
    ("learn gate C.policy", "agent C's policy beside its rules, in 20 worlds of the test"),
    ("learn gate A.policy B.policy C.policy", "all three acting together; they may then act together only"),
)  # fmt: skip
MODULES = ("lab.learning.simulator", "lab.learning.observation", "lab.learning.comparison.learned_rule")  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("policies", nargs="+", metavar="FILE",
                        help="of `learn export`; or of `learn train-agents`, one for each agent to act")  # fmt: skip
    add_workloads(parser)
    add_run(parser)
    parser.add_argument("--env-argument", action="append", default=[], metavar="NAME=VALUE",
                        help="of the agents' worlds: nodes, steps (default: the training's); repeatable")  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Play beside the rules, write the answer into the cards and say it; 0 is yes, 1 no.

    Raises:
        InputError: a file is no policy that acts, or a workload cannot be used.
    """
    policies = {Path(word): read_policy(Path(word)) for word in arguments.policies}
    environments = {policy.card.environment for policy in policies.values()}
    if environments == {AGENTS}:
        answer, cards = _agents(policies, arguments)
    elif len(policies) > 1:
        raise InputError("FILE", arguments.policies[1], f"several act together only in {AGENTS}")
    else:
        (path,) = policies
        answer, cards = _admission(path, policies[path], arguments)
    names, by = [card.name for card in cards], ", ".join(arguments.workload or ["uniform"])
    note_policy_gate(names, by, passes=answer.passes, reasons=answer.reasons)
    for path in policies:
        note_artifact(path, "model")
    if arguments.json:
        print_json({"passes": answer.passes, "reasons": answer.reasons})
    else:
        _print(answer, cards)
    return ExitCode.GOOD if answer.passes else ExitCode.DIFFERS


def _admission(
    path: Path, policy: LearnedPolicy, arguments: argparse.Namespace
) -> tuple[GateAnswer, list[PolicyCard]]:
    arm = learned_arm(policy.card.name, [exported(path)])
    judgements = compare(arguments, [arm]).judgements
    answer = judge_gate(judgements, arm.name)
    card = with_gate(policy.card, judgements, answer, code_version(MODULES))
    write_policy(replace(policy, card=card), path)
    return answer, [card]


def _agents(
    policies: Mapping[Path, LearnedPolicy], arguments: argparse.Namespace
) -> tuple[GateAnswer, list[PolicyCard]]:
    for name in ("gymnasium", "pettingzoo"):
        library(name)
    from foresail.learn.agents_gate import gate_agents  # noqa: PLC0415 - gymnasium

    shape = pairs("--env-argument", arguments.env_argument)
    return gate_agents(policies, arguments.workload or [], arguments.streams, shape)


def _print(answer: GateAnswer, cards: Sequence[PolicyCard]) -> None:
    verdict = "passes" if answer.passes else "does not pass"
    names = ", ".join(card.name for card in cards)
    lines = [f"{names} {verdict}", *(f"  {reason}" for reason in answer.reasons)]
    for card in cards:
        lines += card_lines(card)
    console().print("\n".join(lines), markup=False, soft_wrap=True)
