"""Write a trace's usage windows in the cloud-neutral form, which `--trace common` and `run-trace --form common` read.

From Google's trace of 2019, or from windows of any platform whose columns are called otherwise: then `--mapping` says
what they are called, and the new file has the form's own names.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from bus.exit_codes import ExitCode
from foresail.common_form import add_common_form, common_options
from foresail.output import console, print_json
from foresail.progress import doing_stages
from foresail.run_log import note_artifact
from foresail.workspace import workspace
from lab.traces.common_options import NAME, NUMBERED
from lab.traces.registry import event_names, event_reader
from schemas.wording import count_text

EXAMPLES = (
    (
        "forecast windows --trace google2019 --input clusterdata-2019/a --out a.parquet",
        "usage windows of Google's trace, with requests and ends",
    ),
    (
        "forecast windows --trace common --mapping names.json --input mine.csv --out mine.parquet",
        "from columns with names of their own",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--trace", required=True, choices=event_names(), help="format of the input")
    parser.add_argument("--input", required=True, metavar="FILE|FOLDER", help="the trace")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE",
                        help="a new file, .parquet or .csv")  # fmt: skip
    parser.add_argument("--platform", metavar="NAME",
                        help="what the column source_platform says (default: the trace's name)")  # fmt: skip
    parser.add_argument("--write-codes", choices=NUMBERED,
                        help="write ends as these numbers (default: as their names)")  # fmt: skip
    add_common_form(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Write.

    Raises:
        InputError: the trace has no usage windows, is not in its form, or the new file cannot be written.
    """
    from lab.traces.common_writer import Written, common_windows, write_windows  # noqa: PLC0415 - loads polars

    common = common_options(arguments)
    written = Written(
        platform=arguments.platform or arguments.trace,
        cluster=arguments.default_cluster or arguments.trace,
        codes=arguments.write_codes,
    )
    form = common if arguments.trace == NAME else replace(common, default_cluster=None)
    reader = event_reader(arguments.trace, form)
    with doing_stages("reading"):
        windows = common_windows(reader, workspace().input(arguments.input), written, common)
        write_windows(windows, arguments.out)
    note_artifact(arguments.out, "dataset")
    ended = windows.height - windows["terminal_event_type"].null_count()
    if arguments.json:
        print_json({"file": arguments.out.name, "windows": windows.height, "ended": ended})
        return ExitCode.GOOD
    said = f"{count_text(windows.height, 'window')}, {ended} of an attempt whose end is known"
    console().print(f"{said}: {arguments.out.name}", markup=False)
    return ExitCode.GOOD
