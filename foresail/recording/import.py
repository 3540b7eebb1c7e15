# ruff: noqa: N999 - the file is called as its action is
"""`foresail recording import FILE OUT`: a predecessor's trace, event or state file as a recording."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode, verdict
from foresail.output import console, print_json
from schemas.wording import count_text

EXAMPLES = (
    (
        "recording import live_kubernetes_trace.json old.fslog",
        "rows of a trace, with risk and demand by node",
    ),
    ("recording import events.jsonl old.fslog", "decisions, stages and trials of a run"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        help="a trace (.json, .jsonl), events.jsonl or state.json",
    )
    parser.add_argument("out", metavar="OUT", type=Path, help="a new recording")
    parser.add_argument("--cluster", default="imported", metavar="NAME",
                        help="what its cluster is called (default: %(default)s)")  # fmt: skip
    parser.add_argument("--exact", action="store_true",
                        help="keep each line word for word, too, for `recording export` to give the file back; "
                        "paths of the machine that wrote it are then in the recording")  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Import, and say what was carried over and what was not.

    Raises:
        InputError: the file cannot be used, or the new one cannot be written.
    """
    from lab.recordings.predecessors.convert import import_file  # noqa: PLC0415 - only this verb needs it

    if not arguments.cluster:
        raise InputError("--cluster", "(empty)", "give a name")
    made = import_file(arguments.file, arguments.out, arguments.cluster, exact=arguments.exact)
    code = verdict(nothing_compared=not made.events)
    if arguments.json:
        print_json({"file": arguments.out.name, **asdict(made)})
        return code
    out = console()
    what = {"trace": "a trace", "events": "an event file", "state": "a state file"}[made.form]
    total = count_text(sum(made.events.values()), "event")
    out.print(
        f"{what} of {count_text(made.rows, 'row')}: {total} in {arguments.out.name}", markup=False
    )
    carried = Table("carried over", "", box=None, pad_edge=False)
    for kind, count in made.events.items():
        carried.add_row(kind, str(count))
    out.print(carried)
    if made.left_out:
        left = Table("not carried over", "", "since", box=None, pad_edge=False)
        for name, count, why in made.left_out:
            left.add_row(name, str(count), why)
        out.print(left)
    return code
