"""`foresail recording cut FILE OUT`: write a part, with the checkpoints and keyframes it needs."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from bus.exit_codes import ExitCode, verdict
from bus.recording import open_recording
from bus.recording.cut import CutSummary, cut_recording
from bus.recording.window import Window, WindowUnit, cycle_of_decision
from foresail.output import console, print_json
from foresail.spans import numbers, times
from schemas.wording import count_text

EXAMPLES = (
    ("recording cut run.fslog part.fslog --cycle 40..60", "21 cycles that can be verified"),
    ("recording cut run.fslog part.fslog --decision last", "the newest decision alone"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a recording")
    parser.add_argument("out", metavar="OUT", type=Path, help="a new file")
    part = parser.add_mutually_exclusive_group(required=True)
    part.add_argument(
        "--seq",
        metavar="A..B",
        help="by position in the log; either end may be left open, as may those below",
    )
    part.add_argument("--cycle", metavar="A..B", help="by cycle, with the outcomes of each")
    part.add_argument(
        "--time",
        metavar="A..B",
        help="by recorded time: 2026-01-01T10:00:00Z, or 90s or 5m after the first event",
    )
    part.add_argument("--decision", metavar="ID|CYCLE|last", help="by the cycle of one decision")
    parser.add_argument(
        "--past-damage",
        action="store_true",
        help="skip damaged places and copy what is whole after them",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Cut a part out."""
    window = _window(arguments)
    made = cut_recording(arguments.file, arguments.out, window, past_damage=arguments.past_damage)
    if arguments.json:
        print_json({"file": arguments.out.name, "window": str(window), **asdict(made)})
    else:
        _print(arguments.out, made)
    return verdict(differs=not made.complete, cut_off=bool(made.gaps or made.damage))


def _window(arguments: argparse.Namespace) -> Window:
    if arguments.seq is not None:
        return Window(WindowUnit.SEQ, *numbers("--seq", arguments.seq))
    if arguments.cycle is not None:
        return Window(WindowUnit.CYCLE, *numbers("--cycle", arguments.cycle))
    recording = open_recording(arguments.file)
    if arguments.decision is not None:
        cycle = cycle_of_decision(recording, arguments.decision)
        return Window(WindowUnit.CYCLE, cycle, cycle)
    first = next(iter(recording), None)
    return Window(WindowUnit.TIME, *times("--time", arguments.time, first.time_ns if first else 0))


def _print(path: Path, made: CutSummary) -> None:
    out = console()
    out.print(
        f"{count_text(made.messages, 'message')} in {path.name}: "
        f"seq {made.from_seq} to {made.last_seq} were asked for; "
        f"what a re-run needs before them is there from seq {made.first_seq} on, and of what came before "
        f"that the {made.heads} newest messages that still hold, such as settings",
        markup=False,
    )
    if not made.complete:
        out.print("the log begins too late: some checkpoint or keyframe is not there")
    if made.gaps:
        out.print(
            f"messages are missing in {count_text(made.gaps, 'place')} where the source is damaged"
        )
    if made.damage:
        out.print(f"the source is damaged: {made.damage}", markup=False)
