"""`foresail deny`: say no to an action that waits; see `foresail.approving`."""

from __future__ import annotations

import argparse

from bus.exit_codes import ExitCode
from foresail import approving
from foresail.verbs import Verb
from schemas.approval import Answer

VERB = Verb(118, "say no to an action that waits")
EXAMPLES = (("deny 17 --reason 'not before the weekend'", "it is refused, and the reason is kept"),)
EXIT_CODES = {ExitCode.DIFFERS: "nothing came of it within `--wait`"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    approving.add_arguments(parser, required=True)


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Deny.

    Raises:
        InputError: no stack runs, or nothing of that name waits.
    """
    return await approving.answer(arguments, Answer.DENY)
