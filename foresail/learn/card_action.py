"""`foresail learn card`: what a policy's file says of itself. It needs no learning library."""

from __future__ import annotations

import argparse
from pathlib import Path

from bus.exit_codes import ExitCode
from foresail.learn.showing import card_lines
from foresail.output import console, print_json
from services.learned_policy.file import read_policy

EXAMPLES = (("learn card ppo.policy", "how it was trained, how good it is, whether it may act"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("policy", metavar="FILE", help="a policy that `learn export` wrote")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Show the card; raises InputError where the file holds none."""
    card = read_policy(Path(arguments.policy)).card
    if arguments.json:
        print_json(card.model_dump(mode="json"))
    else:
        console().print("\n".join(card_lines(card)), markup=False, soft_wrap=True)
    return ExitCode.GOOD
