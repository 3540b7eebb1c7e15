"""`foresail twin ACTION`: the embedded cluster by itself, for people with kubectl.

`up` starts it in the foreground, `show` draws a day of it, `scenario` lets things go wrong in it,
`export` writes a start state, `workloads` lists what it can play, `machines` what can be rented,
`validate` checks files before they are played.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from bus.exit_codes import ExitCode
from foresail.verbs import Verb

VERB = Verb(
    140, "the embedded cluster alone: up, show, scenario, export, workloads, machines, validate"
)

ACTIONS = {
    "up": "start the embedded cluster alone and print its kubeconfig; Ctrl-C stops it",
    "show": "play a day on virtual time and draw it: demand, capacity, latency, machines, failures",
    "scenario": "check a scenario file and apply it to the running cluster",
    "export": "write nodes and running pods of a recording or a cluster as a start state",
    "workloads": "list the workload sources",
    "machines": "list the machines that can be rented, with price and power",
    "validate": "check workload and scenario files: every bad row, with line and remedy",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, text in ACTIONS.items():
        sub = actions.add_parser(action, help=text, description=text)
        import_module(f"foresail.twin.{action}").add_arguments(sub)
        sub.add_argument("--json", action="store_true", help="print JSON")


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Run one action."""
    code: ExitCode = await import_module(f"foresail.twin.{arguments.action}").run(arguments)
    return code
