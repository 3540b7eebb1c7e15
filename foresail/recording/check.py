"""`foresail recording check FILE`: name every damaged place, and what can be used before and behind it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.exit_codes import ExitCode, verdict
from bus.recording.check import FileCheck, check_file
from foresail.output import console, print_json
from foresail.progress import reading_bytes
from projections.figures import size
from schemas.wording import count_text

SHOWN_FLAWS = 20

EXAMPLES = (("recording check run.fslog", "every damaged place with its position"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a recording")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Check a recording.

    Raises:
        InputError: it is no recording at all.
    """
    with reading_bytes(arguments.file, "checking") as on_bytes:
        result = check_file(arguments.file, on_bytes)
    if result.header is None and not result.stretches:
        remedy = "give a file made by `foresail up --record` or `foresail recording`"
        raise InputError("recording", arguments.file, remedy)
    if arguments.json:
        print_json(as_json(result))
    else:
        _print(result)
    return verdict(
        differs=bool(result.flaws) and not result.cut_off,
        nothing_compared=result.messages == 0,
        cut_off=result.cut_off,
    )


def as_json(result: FileCheck) -> dict[str, Any]:
    """Return what was found as JSON values."""
    return {
        **asdict(result),
        "file": result.path.name,
        "path": None,
        "whole": result.whole,
        "cut_off": result.cut_off,
    }


def _print(result: FileCheck) -> None:
    out = console()
    state = "not sealed: it was cut off" if result.cut_off else "damaged"
    if result.whole:
        state = "whole"
    out.print(
        f"{result.path.name}: {state}; {result.frames} frames, {result.messages} usable messages, "
        f"{size(result.bytes)}",
        markup=False,
    )
    for flaw in result.flaws[:SHOWN_FLAWS]:
        out.print(f"  {flaw}", markup=False)
    more = len(result.flaws) - SHOWN_FLAWS + result.flaws_left_out
    if more > 0:
        out.print(f"  and {more} more damaged places")
    if result.header is None:
        out.print("  the header is lost: nothing but `check` and `cut --past-damage` can read it")
    for stretch in result.stretches:
        proof = "" if stretch.proven else " (by checksums only)"
        out.print(
            f"usable: seq {stretch.first_seq} to {stretch.last_seq}, {count_text(stretch.messages, 'message')} "
            f"in frames {stretch.first_frame} to {stretch.last_frame}{proof}"
        )
