"""`foresail approve`: let what waits be carried out, or list it; see `foresail.approving`."""

from __future__ import annotations

import argparse

from bus.exit_codes import ExitCode
from foresail import approving
from foresail.verbs import Verb
from schemas.approval import Answer

VERB = Verb(117, "let an action that waits be carried out; without a name, list what waits")
EXAMPLES = (
    ("approve", "what waits: its age, when it expires, what it is expected to change"),
    (
        "approve 17 --reason 'agreed with the shop'",
        "what cycle 17 decided; 17.1 is its second part",
    ),
)
EXIT_CODES = {
    ExitCode.DIFFERS: "it was refused all the same, or nothing came of it within `--wait`"
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    approving.add_arguments(parser, required=False)


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Approve, or list.

    Raises:
        InputError: no stack runs, or nothing of that name waits.
    """
    if arguments.decision is None:
        return await approving.list_waiting(arguments)
    return await approving.answer(arguments, Answer.APPROVE)
