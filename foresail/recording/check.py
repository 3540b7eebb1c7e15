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

SHOWN_FLAWS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE", type=Path)


def main(arguments: argparse.Namespace) -> ExitCode:
    """Check a recording.

    Raises:
        InputError: it is no recording at all.
    """
    with reading_bytes(arguments.file, "checking") as on_bytes:
        found = check_file(arguments.file, on_bytes)
    if found.header is None and not found.stretches:
        remedy = "give a file made by `foresail up --record` or `foresail recording`"
        raise InputError("recording", arguments.file, remedy)
    if arguments.json:
        print_json(as_json(found))
    else:
        _print(found)
    return verdict(
        differs=bool(found.flaws) and not found.cut_off,
        nothing_compared=found.messages == 0,
        cut_off=found.cut_off,
    )


def as_json(found: FileCheck) -> dict[str, Any]:
    """Return what was found as JSON values."""
    return {
        **asdict(found),
        "file": found.path.name,
        "path": None,
        "whole": found.whole,
        "cut_off": found.cut_off,
    }


def _print(found: FileCheck) -> None:
    out = console()
    state = "not sealed: it was cut off" if found.cut_off else "damaged"
    if found.whole:
        state = "whole"
    out.print(
        f"{found.path.name}: {state}; {found.frames} frames, {found.messages} usable messages, "
        f"{size(found.bytes)}",
        markup=False,
    )
    for flaw in found.flaws[:SHOWN_FLAWS]:
        out.print(f"  {flaw}", markup=False)
    more = len(found.flaws) - SHOWN_FLAWS + found.flaws_left_out
    if more > 0:
        out.print(f"  and {more} more damaged places")
    if found.header is None:
        out.print("  the header is lost: nothing but `check` and `cut --past-damage` can read it")
    for stretch in found.stretches:
        proof = "" if stretch.proven else " (by checksums only)"
        out.print(
            f"usable: seq {stretch.first_seq} to {stretch.last_seq}, {stretch.messages} messages "
            f"in frames {stretch.first_frame} to {stretch.last_frame}{proof}"
        )
