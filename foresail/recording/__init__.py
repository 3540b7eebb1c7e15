"""`foresail recording ACTION`: the log as a file.

`record` writes it from a stack, `info` says what a file holds, `check` names every damaged place,
`cut` takes out a part that can be re-run, `redact` replaces names, `to-parquet` writes tables, `import` reads the
predecessors' files.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.verbs import Verb, set_texts

VERB = Verb(30, "record the log to a file; check, cut, redact and convert recordings")

ACTIONS = {
    "record": "write a running stack's log to a file: from its beginning, from a point in its past, or from now on",
    "info": "check a recording and show what it holds",
    "check": "list every damaged place of a recording, and what can be used before and after it",
    "cut": "copy part of a recording, with the checkpoints and keyframes that it needs",
    "redact": "replace the names of nodes, pods, namespaces, labels and users irreversibly",
    "to-parquet": "write one Parquet table per kind of event, for pandas, polars or DuckDB",
    "export": "write each cycle as a row of the predecessor system's trace",
    "import": "make a recording of a trace or an event file of the predecessor system",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, text in ACTIONS.items():
        sub = actions.add_parser(action, help=text)
        module = import_module(_module(action))
        set_texts(sub, text, module.EXAMPLES)
        module.add_arguments(sub)
        sub.add_argument("--json", action="store_true", help="print the result as JSON")


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
