"""`foresail VERB`: finds the verb's file, runs it, and turns bad input into one line and exit code
2.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from importlib import import_module

from bus.errors import BusUnavailable, ForesailError, InputError
from foresail import __version__
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
BAD_INPUT = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="foresail", description=__doc__.partition(":")[2].strip() if __doc__ else ""
    )
    parser.add_argument("--version", action="version", version=f"foresail {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    wanted = next((word for word in given if word in VERBS), None)
    for verb, text in HELP.items():
        sub = verbs.add_parser(verb, help=text, description=text)
        if verb == wanted:
            import_module(VERBS[verb]).add_arguments(sub)
    parsed = parser.parse_args(given)
    return _run(parsed)


def _run(parsed: argparse.Namespace) -> int:
    try:
        verb = import_module(VERBS[parsed.verb])
        # Verbs that own their loop, or need none, have a `main`.
        code: int = verb.main(parsed) if hasattr(verb, "main") else asyncio.run(verb.run(parsed))
    except (InputError, BusUnavailable) as error:
        print_error(str(error))
        return BAD_INPUT
    except ForesailError as error:
        print_error(str(error))
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return code


if __name__ == "__main__":
    sys.exit(main())
