"""`foresail twin workloads`: what the twin can play and suffer, from whom, under which licence."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bus.exit_codes import ExitCode
from foresail.output import console, print_json
from foresail.settings_sources import DATA_VARIABLE
from foresail.twin.own_files import OWN, describe_file
from twin.port.objects import SOURCES
from twin.port.workloads import FITTED, IDLE, load_model

HEAD = ("kind", "name", "what", "licence", "source")
WIDEST = 96
"""Characters of a column; a longer cell moves what follows in its line."""
PROJECT = "Foresail, no trace"
PROJECT_LICENCE = "Apache-2.0"
SHAPES = (
    ("workload", IDLE, "equal nodes of 16 cores and 64 GiB, nothing arrives"),
    ("traffic", "constant", "requests of a Service: the same rate always"),
    ("traffic", "daily", "requests of a Service: a cosine over the day"),
    ("traffic", "bursts", "requests of a Service: a base rate and drawn bursts"),
)
"""What is the project's own."""
PLACES = (
    ("workload", "FILE", "a .csv, .jsonl or .parquet of your own (docs/workloads.md)"),
    ("traffic", "FILE", "a .csv of your own: time_seconds,requests_per_second (docs/workloads.md)"),
    ("machines", "FILE", "a .yaml of your own: what can be rented (docs/twin/machines.md)"),
    (
        "scenario",
        "FILE",
        "a .yaml of your own: traffic, weather and faults over time (docs/twin.md)",
    ),
)
"""What files of a user's own may be; `foresail twin workloads FILE ...` lists them like the others."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One workload source."""

    name: str
    title: str
    licence: str
    attribution: str
    rows: int
    """Rows of the trace files that the figures were fitted from."""
    trace_nodes: int
    arrivals_per_hour: float
    """In the first hour, at the size at which the trace's load ratio holds."""
    reference_nodes: int
    files: tuple[str, ...]
    """Under FORESAIL_DATA; with them the real trace is played."""
    real: bool
    """Whether these files are there."""


EXAMPLES = (("twin workloads", "names for --workload"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="own workload, rate, machine and scenario files to list",
    )
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        help=f"folder of the real trace files (default: {DATA_VARIABLE})",
    )


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Print one table of all.

    Raises:
        InputError: one of the files is wrong.
    """
    folder = arguments.data or os.environ.get(DATA_VARIABLE) or None
    lines = [describe(name, None if folder is None else Path(folder)) for name in FITTED]
    own = [describe_file(Path(name)) for name in arguments.files]
    if arguments.json:
        shapes = [
            {
                "kind": kind,
                "name": name,
                "title": what,
                "licence": PROJECT_LICENCE,
                "source": PROJECT,
            }
            for kind, name, what in SHAPES
        ]
        weathers = [{"kind": "weather", **asdict(source)} for source in SOURCES]
        workloads = [{"kind": "workload", **asdict(line)} for line in lines]
        print_json([*workloads, *shapes, *weathers, *({"own": True, **asdict(one)} for one in own)])
        return ExitCode.GOOD
    rows = [*map(_source_row, lines)]
    rows += [(kind, name, what, PROJECT_LICENCE, PROJECT) for kind, name, what in SHAPES]
    rows += [
        ("weather", source.level, source.title, source.licence, source.attribution or PROJECT)
        for source in SOURCES
    ]
    rows += [(one.kind, one.name, one.title, one.licence, one.source) for one in own]
    if not own:
        rows += [(kind, name, what, OWN, "as the file says") for kind, name, what in PLACES]
    _print_table(rows)
    return ExitCode.GOOD


def _source_row(line: SourceLine) -> tuple[str, ...]:
    plays = "the real trace" if line.real else "its fitted model"
    what = f"{line.title}; {line.rows:,} trace rows, {line.trace_nodes:,} machines; plays {plays}"
    return "workload", line.name, what, line.licence, line.attribution


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [
        min(WIDEST, max(len(row[place]) for row in (HEAD, *rows))) for place in range(len(HEAD) - 1)
    ]
    for row in (HEAD, *rows):
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        console().print("  ".join([*cells, row[-1]]), markup=False, highlight=False, soft_wrap=True)
    console().print(
        "\nFitted models ship with the package and need no file; "
        f"{DATA_VARIABLE} or --data names the folder of the real traces.",
        soft_wrap=True,
    )


def describe(name: str, data: Path | None) -> SourceLine:
    """Describe one source from its shipped model."""
    model = load_model(name)
    source = model.provenance[0]
    files = tuple(entry.path for entry in source.files)
    return SourceLine(
        name=name,
        title=source.title,
        licence=source.licence,
        attribution=source.attribution,
        rows=sum(entry.rows for entry in source.files),
        trace_nodes=model.trace_nodes,
        arrivals_per_hour=model.arrivals_per_hour[model.start_hour],
        reference_nodes=model.reference_nodes,
        files=files,
        real=data is not None and all((data / path).is_file() for path in files),
    )
