"""The verbs of the command line: which module each is in, and the parser over them.

A verb's module is imported only when it is asked for, so that `foresail --help` stays quick.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection
from importlib import import_module
from types import ModuleType

from bus.errors import InputError
from foresail import __version__

DESCRIPTION = "Watch a Kubernetes cluster, predict, decide, and say why. Every verb explains itself with --help."
VERBS = {
    "up": "foresail.up",
    "tap": "foresail.tap",
    "recording": "foresail.recording",
    "replay": "foresail.replay",
    "explain": "foresail.explain",
    "timeline": "foresail.timeline",
    "status": "foresail.status",
    "trace": "foresail.trace",
    "kill": "foresail.control",
    "pause": "foresail.control",
    "resume": "foresail.control",
    "doctor": "foresail.doctor",
    "reset": "foresail.reset",
    "twin": "foresail.twin",
    "forecast": "foresail.forecast",
    "verify": "foresail.verify",
    "what-if": "foresail.what_if",
    "sweep": "foresail.sweep",
    "diff": "foresail.diff",
    "completion": "foresail.completion",
}
HELP = {
    "up": "start the whole stack: nats-server, cluster, services, live view",
    "tap": "print stored events as they come",
    "recording": "record the log to a file; check, cut, redact and convert recordings",
    "replay": "publish a recording again as a cluster of its own, for dashboard and taps",
    "explain": "explain one decision on one screen",
    "timeline": "show one incident as a chain with its lags",
    "status": "show the stack, its layers and the log",
    "trace": "send the log as OpenTelemetry traces, one per cycle",
    "kill": "stop acting at once, until resume",
    "pause": "start no new executions, until resume",
    "resume": "take back kill or pause",
    "doctor": "check what this machine and the settings allow",
    "reset": "remove the state folder",
    "twin": "the embedded cluster alone: up, scenario, export, workloads, validate",
    "forecast": "from traces to models: datasets, training, evaluation",
    "verify": "compute a recording's layers again with today's code and compare",
    "what-if": "say what other thresholds, models or rules would have decided on a recording",
    "sweep": "try many values of some settings on a recording, over all cores",
    "diff": "compare two recordings cycle by cycle",
    "completion": "print the completion script of a shell: bash, zsh or fish",
}


def make_parser(with_arguments: Collection[str]) -> argparse.ArgumentParser:
    """Return the parser over all verbs; those of `with_arguments` know their arguments.

    Raises:
        InputError: a folder in `services/agents/` registers no agent that can be used.
    """
    parser = argparse.ArgumentParser(prog="foresail", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"foresail {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, text in HELP.items():
        sub = verbs.add_parser(verb, help=text, description=text)
        if verb in with_arguments:
            verb_module(verb).add_arguments(sub)
    return parser


def verb_module(verb: str) -> ModuleType:
    """Return the module of a verb.

    Raises:
        InputError: a folder in `services/agents/` registers no agent that can be used.
    """
    try:
        return import_module(VERBS[verb])
    except ValueError as error:
        from agent_registry.discovery import BadRegistration  # noqa: PLC0415 - for what went wrong

        if not isinstance(error, BadRegistration):
            raise
        raise InputError(error.field, error.value, error.remedy) from error
