"""`foresail recording export FILE OUT`: a recording's cycles as rows of the predecessor's trace, JSON Lines.

What was imported with `--exact` is given back word for word, whichever of its files it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bus.errors import InputError
from bus.exit_codes import ExitCode, verdict
from bus.recording import open_recording
from foresail.output import console, print_json
from foresail.progress import each, reading
from schemas.wording import count_text

EXAMPLES = (
    ("recording export run.fslog rows.jsonl", "each cycle as a row of the earlier system's trace"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a recording, imported or of a run")
    parser.add_argument("out", metavar="OUT", type=Path, help="a new file of JSON Lines")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Write rows, and say how many.

    Raises:
        InputError: the recording cannot be read, or the new file cannot be written.
    """
    from bus.events import read_entry  # noqa: PLC0415 - only this verb needs it
    from lab.recordings.predecessors.rows import file_lines  # noqa: PLC0415 - likewise

    recording, count = open_recording(arguments.file), 0
    try:
        with (
            reading(arguments.file, "reading") as on_message,
            arguments.out.open("x", encoding="utf-8") as out,
        ):
            entries = (read_entry(message) for message in each(recording, on_message))
            for line in file_lines(one.event for one in entries if one.event is not None):
                out.write(line)
                count += 1
    except OSError as error:
        remedy = f"give a new file in a folder that can be written ({error.strerror})"
        raise InputError("OUT", arguments.out, remedy) from error
    code = verdict(nothing_compared=not count, cut_off=bool(recording.damage))
    if arguments.json:
        print_json({"file": arguments.out.name, "rows": count, "damage": recording.damage})
        return code
    console().print(f"{count_text(count, 'row')} in {arguments.out.name}", markup=False)
    if recording.damage:
        console().print(f"read up to the damage: {recording.damage}", markup=False)
    return code
