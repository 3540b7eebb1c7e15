"""`foresail session resume`: goes on where a runner ended."""

from __future__ import annotations

import argparse

from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.session.place import add_session, known_session
from foresail.session.running import Work, add_running, run_session

EXAMPLES = (
    ("session resume", "the newest session, after its runner was killed"),
    ("session resume jobs-1a2b3c4d --retry-failed", "and what failed gets another try"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_session(parser)
    add_running(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run what is left; jobs and payload are those of the log.

    Raises:
        InputError: there is no such session, or the engine cannot be used.
    """
    return stopping.run(run_session(arguments, Work(known_session(arguments), None, ())))
