"""`foresail recording ACTION`: the log as a file.

`record` writes it from a stack, `info` says what a file holds, `check` names every damaged place,
`cut` takes out a part that can be re-run, `redact` replaces names, `to-parquet` writes tables.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.verbs import Verb

VERB = Verb(30, "record the log to a file; check, cut, redact and convert recordings")

ACTIONS = {
    "record": "write a stack's log to a file: from its beginning, from a point in its past, or from now on",
    "info": "prove a recording and say what it holds",
    "check": "name every damaged place of a recording and what can be used before and behind it",
    "cut": "write a part of a recording, with the checkpoints and keyframes that the part needs",
    "redact": "replace the names of nodes, pods, namespaces, labels and users, one way",
    "to-parquet": "write a typed table for each family of events, for pandas, polars or DuckDB",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, text in ACTIONS.items():
        sub = actions.add_parser(action, help=text, description=text)
        import_module(_module(action)).add_arguments(sub)
        sub.add_argument("--json", action="store_true", help="print JSON")


def main(arguments: argparse.Namespace) -> ExitCode:
    """Run one action: those that only read and write files in the main thread, where Ctrl-C interrupts
    a computation at once.
    """
    action = import_module(_module(arguments.action))
    code: ExitCode = (
        action.main(arguments) if hasattr(action, "main") else stopping.run(action.run(arguments))
    )
    return code


def _module(action: str) -> str:
    return f"foresail.recording.{action.replace('-', '_')}"
