"""`foresail twin workloads`: what the twin can play and suffer, from whom, under which licence."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from bus.exit_codes import ExitCode
from foresail.output import console, print_json
from foresail.settings_sources import DATA_VARIABLE
from twin.health.sources import SOURCES
from twin.workloads import FITTED, IDLE
from twin.workloads.catalog import load_model

WIDTH = 12
WEATHER_WIDTH = 15
_OWN = "traffic of a Service; a shape of Foresail's own, Apache-2.0, from no trace"
TRAFFIC = {
    "constant": f"the same rate of requests always: {_OWN}",
    "daily": f"a cosine over the day: {_OWN}",
    "bursts": f"a base rate and drawn bursts: {_OWN}",
    "RATES": "traffic of a Service: your own .csv of time_seconds,requests_per_second (docs/workloads.md)",
}
"""Requests of people, by kind."""


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
        "--data",
        metavar="FOLDER",
        help=f"folder of the real trace files (default: {DATA_VARIABLE})",
    )


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the sources."""
    folder = arguments.data or os.environ.get(DATA_VARIABLE) or None
    lines = [describe(name, None if folder is None else Path(folder)) for name in FITTED]
    if arguments.json:
        weathers = [{"kind": "weather", **asdict(source)} for source in SOURCES]
        print_json([*({"kind": "workload", **asdict(line)} for line in lines), *weathers])
        return ExitCode.GOOD
    for line in lines:
        plays = "the real trace" if line.real else "its fitted model"
        console().print(
            f"{line.name:<{WIDTH}}{line.title}, {line.licence}; {line.rows:,} trace rows, "
            f"{line.trace_nodes:,} machines; plays {plays}",
            markup=False,
        )
    console().print(f"{IDLE:<{WIDTH}}equal nodes of 16 cores and 64 GiB, nothing arrives")
    console().print(f"{'FILE':<{WIDTH}}your own .csv, .jsonl or .parquet (docs/workloads.md)")
    for name, what in TRAFFIC.items():
        console().print(f"{name:<{WIDTH}}{what}", markup=False)
    for source in SOURCES:
        label = f"weather {source.level}"
        owed = f"; {source.licence}: {source.attribution}" if source.attribution else ""
        console().print(f"{label:<{WEATHER_WIDTH}}{source.title}{owed}", markup=False)
    console().print(
        "Fitted models ship with the package and need no file; "
        f"{DATA_VARIABLE} or --data names the folder of the real traces."
    )
    return ExitCode.GOOD


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
