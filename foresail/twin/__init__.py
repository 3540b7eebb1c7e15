"""`foresail twin ACTION`: the embedded cluster by itself, for people with kubectl.

`up` starts it in the foreground, `show` draws a day of it, `scenario` lets things go wrong in it,
`export` writes a start state, `rates` measured requests, `workloads` lists what it can play, `machines`
what can be rented, `validate` checks files before they are played.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from bus.exit_codes import ExitCode
from foresail.verbs import Verb, set_texts

VERB = Verb(
    140, "the simulated cluster by itself: start it, draw a day of it, make things fail in it"
)

ACTIONS = {
    "up": "start the simulated cluster alone and print its kubeconfig; Ctrl-C stops it",
    "show": "simulate a day and draw it: demand, capacity, latency, machines, failures",
    "scenario": "check a file of failures and apply it to the running simulated cluster",
    "export": "write the nodes and running pods of a recording or a cluster as a workload file to start from",
    "rates": "write a rate file from a Prometheus or an exported CSV: measured requests, to be played",
    "workloads": "list the workloads that can be played",
    "machines": "list the machine types that can be rented, with price and power",
    "validate": "check workload, rate, machine and scenario files: report every bad row with its line and a remedy",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, text in ACTIONS.items():
        sub = actions.add_parser(action, help=text)
        module = import_module(f"foresail.twin.{action}")
        set_texts(sub, text, module.EXAMPLES)
        module.add_arguments(sub)
        sub.add_argument("--json", action="store_true", help="print the result as JSON")


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Run one action."""
    code: ExitCode = await import_module(f"foresail.twin.{arguments.action}").run(arguments)
    return code
