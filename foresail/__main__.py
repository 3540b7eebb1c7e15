"""`foresail VERB`: finds the verb's file, runs it, and turns whatever ends it into one exit code of
`bus.exit_codes`.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from bus.errors import ForesailError, InputError, Temporary
from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.first_steps import first_steps
from foresail.output import print_error
from foresail.run_log import run_log_of
from foresail.verbs import make_parser, verb_module, verbs
from inputs.close_matches import remedy_for


def main(arguments: Sequence[str] | None = None) -> ExitCode:
    """Run one verb and return its exit code.

    Raises:
        SystemExit: argparse has printed help (0), or does not understand the arguments (2).
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        print(first_steps())
        return ExitCode.GOOD
    try:
        known = verbs()
        if not words[0].startswith("-") and words[0] not in known:
            raise InputError("VERB", words[0], remedy_for(words[0], known))
        parser = make_parser([word for word in words if word in known][:1])
    except InputError as error:
        print_error(str(error))
        return ExitCode.BAD_INPUT
    parsed = parser.parse_args(words, argparse.Namespace(typed=words))
    return _run(parsed, words)


def _run(parsed: argparse.Namespace, words: Sequence[str]) -> ExitCode:
    try:
        with stopping.stopping_by_signal(), run_log_of(parsed, words) as outcome:
            code = outcome.code = _verb(parsed)
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
    verb = verb_module(parsed.verb)
    # Verbs that own their loop, or need none, have a `main`.
    code: ExitCode = verb.main(parsed) if hasattr(verb, "main") else stopping.run(verb.run(parsed))
    return code


def _leave_stdout() -> None:
    """Let the interpreter's own last flush go nowhere; it would fail again, loudly."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    exit_code = main()
    # The interpreter looks for garbage once more before it ends: a tenth of what a short verb takes.
    gc.freeze()
    sys.exit(exit_code)
