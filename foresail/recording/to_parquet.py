"""`foresail recording to-parquet FILE FOLDER`: a typed table for each family of events."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from bus.exit_codes import ExitCode, verdict
from bus.recording import open_recording
from foresail.output import console, not_events, print_json
from foresail.progress import each, reading

EXAMPLES = (("recording to-parquet run.fslog tables", "tables/*.parquet"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a recording")
    parser.add_argument("out", metavar="FOLDER", type=Path, help="a new folder")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Write tables."""
    from lab.recordings.tables import write_tables  # noqa: PLC0415 - loads polars

    recording = open_recording(arguments.file)
    with reading(arguments.file, "reading") as on_message:
        made = write_tables(each(recording, on_message), arguments.out)
    code = verdict(
        differs=made.unreadable > 0,
        nothing_compared=not any(made.rows.values()),
        cut_off=bool(recording.damage),
    )
    if arguments.json:
        print_json({"folder": arguments.out.name, "damage": recording.damage, **asdict(made)})
        return code
    out = console()
    table = Table(box=None)
    table.add_column(f"{arguments.out.name}/")
    table.add_column("rows", justify="right")
    for name, rows in made.rows.items():
        table.add_row(f"{name}.parquet", str(rows))
    out.print(table)
    if made.unreadable:
        out.print(not_events(made.unreadable))
    if made.unresolved:
        out.print(f"{made.unresolved} deltas lie before their keyframe; their tables are left out")
    if recording.damage:
        out.print(f"read up to the damage: {recording.damage}", markup=False)
    return code
