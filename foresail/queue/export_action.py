"""`foresail queue export FILE`: a recording as the predecessors' SQLite database or CSV."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from bus.errors import InputError
from bus.exit_codes import ExitCode, verdict
from bus.recording import open_recording
from foresail.output import console, not_events, print_json
from foresail.progress import each, reading
from lab.queue.export import write_csv, write_sqlite
from lab.queue.history import QueueHistory, read_history

EXAMPLES = (
    ("queue export jobs.fslog --sqlite skrueue.db", "four tables and five indexes"),
    (
        "queue export jobs.fslog --csv training.csv",
        "a row for each Job, with the cluster around it",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a recording of `queue collect`")
    parser.add_argument("--sqlite", type=Path, metavar="DB", help="write this new database")
    parser.add_argument("--csv", type=Path, metavar="CSV", help="write this new file")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Read the recording once, and write what was asked for.

    Raises:
        InputError: neither form is asked for, or a file exists or cannot be written.
    """
    if arguments.sqlite is None and arguments.csv is None:
        raise InputError("--sqlite, --csv", "(neither)", "give a file for at least one of them")
    recording = open_recording(arguments.file)
    with reading(arguments.file, "reading") as on_message:
        history = read_history(each(recording, on_message))
    rows: dict[str, int] = {}
    if arguments.sqlite is not None:
        rows |= write_sqlite(history, arguments.sqlite)
    if arguments.csv is not None:
        rows["csv"] = write_csv(history, arguments.csv)
    if arguments.json:
        print_json({"rows": rows, "jobs": _counts(history), "damage": recording.damage})
    else:
        _print(rows, history, recording.damage)
    return verdict(
        differs=history.unreadable > 0,
        nothing_compared=not history.jobs and not history.states,
        cut_off=bool(recording.damage),
    )


def _counts(history: QueueHistory) -> dict[str, int]:
    return dict(Counter(job.status for job in history.jobs.values()))


def _print(rows: dict[str, int], history: QueueHistory, damage: str) -> None:
    out = console()
    for name, count in rows.items():
        out.print(f"{count:>8} {name}", markup=False)
    counts = ", ".join(f"{count} {status}" for status, count in sorted(_counts(history).items()))
    out.print(f"jobs: {counts or 'none'}", markup=False)
    if history.unreadable:
        out.print(not_events(history.unreadable))
    if damage:
        out.print(f"read up to the damage: {damage}", markup=False)
