"""`foresail VERB`: finds the verb's file, runs it, and turns whatever ends it into one exit code of
`bus.exit_codes`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType

from bus.errors import ForesailError, InputError, Temporary
from bus.exit_codes import ExitCode
from foresail import __version__
from foresail.first_steps import first_steps
from foresail.near import remedy_for
from foresail.output import print_error

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
}


def main(arguments: Sequence[str] | None = None) -> ExitCode:
    """Run one verb and return its exit code.

    Raises:
        SystemExit: argparse has printed help (0), or does not understand the arguments (2).
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        print(first_steps())
        return ExitCode.GOOD
    if not given[0].startswith("-") and given[0] not in VERBS:
        print_error(str(InputError("VERB", given[0], remedy_for(given[0], VERBS))))
        return ExitCode.BAD_INPUT
    parser = argparse.ArgumentParser(
        prog="foresail", description=__doc__.partition(":")[2].strip() if __doc__ else ""
    )
    parser.add_argument("--version", action="version", version=f"foresail {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    wanted = next((word for word in given if word in VERBS), None)
    try:
        module = None if wanted is None else _verb_module(wanted)
    except InputError as error:
        print_error(str(error))
        return ExitCode.BAD_INPUT
    for verb, text in HELP.items():
        sub = verbs.add_parser(verb, help=text, description=text)
        if verb == wanted and module is not None:
            module.add_arguments(sub)
    parsed = parser.parse_args(given)
    return _run(parsed)


def _verb_module(verb: str) -> ModuleType:
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


def _run(parsed: argparse.Namespace) -> ExitCode:
    try:
        with _interrupted_by_sigterm():
            code = _verb(parsed)
        sys.stdout.flush()
    except InputError as error:
        print_error(str(error))
        return ExitCode.BAD_INPUT
    except Temporary as error:
        print_error(str(error))
        return ExitCode.UNREACHABLE
    except ForesailError as error:
        print_error(str(error))
        return ExitCode.FAILED
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _leave_stdout()
        return ExitCode.BROKEN_PIPE
    return code


def _verb(parsed: argparse.Namespace) -> ExitCode:
    verb = import_module(VERBS[parsed.verb])
    # Verbs that own their loop, or need none, have a `main`.
    code: ExitCode = verb.main(parsed) if hasattr(verb, "main") else asyncio.run(verb.run(parsed))
    return code


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, so that a verb that is stopped leaves nothing half written."""
    try:
        before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    except ValueError:  # not the main thread: whoever runs us there owns the signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave_stdout() -> None:
    """Let the interpreter's own last flush go nowhere; it would fail again, loudly."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
