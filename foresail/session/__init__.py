"""`foresail session ACTION`: many jobs planned from one file, run anywhere, and ranked; none of them is lost.

`plan` writes the jobs, `run` runs them on this machine, on Kubernetes or on Ray, `status` shows how far they are,
`resume` goes on where a runner ended, however it ended, `cancel` stops everything, `aggregate` ranks the results.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from bus.exit_codes import ExitCode
from foresail.verbs import Verb, set_texts

VERB = Verb(
    187, "plan a session of many jobs, run it anywhere, resume it, and rank what came of it"
)

EXIT_CODES = {
    ExitCode.DIFFERS: "`run`, `resume`: not every job succeeded; `status`: one did not; `pipeline`: "
    "half of them did not, with `--strict-health` one",
    ExitCode.BAD_INPUT: "what was given cannot be used; `run`, `resume`: not one job could be",
    ExitCode.ANOTHER_WRITER: "`run`, `resume`: another runner has this session; nothing was done",
    ExitCode.NOTHING_COMPARED: "`aggregate`: no result is left after the filters",
}

ACTIONS = {
    "plan": "write the jobs of a session file: every combination of its grids, or a choice of them",
    "run": "run the jobs of a file; the same command goes on where an earlier one ended",
    "status": "show a session's jobs by state, what failed and why, and the best so far",
    "resume": "go on with a session; no job that has succeeded runs again",
    "cancel": "stop a session: end what runs, begin nothing more",
    "aggregate": "rank the results in a folder, filtered: a table, JSON, and one HTML page",
    "pipeline": "plan, validate, run, judge health, keep a history and send alerts, over a folder of files",
    "job": "do what one job of a session does; engines start this",
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
    """Run one action; it owns its loop, if it needs one."""
    code: ExitCode = import_module(_module(arguments.action)).run(arguments)
    return code


def _module(action: str) -> str:
    return f"foresail.session.{action.replace('-', '_')}_action"
