"""Forecast a table of rates as it would have been done then, and judge it beside simple rules.

Origins roll through the whole table, every 15 minutes or each step where that is longer. The model, where one is
used, follows each series online; predictions and report appear whole.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.forecast._cost import cost, cost_text
from foresail.output import console, print_json
from foresail.progress import doing_shares
from foresail.workspace import workspace
from lab.forecast.builds import write_text
from lab.forecast.rates.backtest import NO_MODEL, run_backtest
from lab.forecast.rates.report import about, as_json, as_markdown, head_row, row, rows_of
from lab.forecast.rates.table import RateTable
from services.inference.rate_model import SHIPPED, RateModel

NONE = "none"

EXAMPLES = (
    (
        "forecast backtest --rates rates.parquet --predictions out.parquet",
        "every forecast, and how good it was",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument(
        "--rates",
        required=True,
        type=Path,
        metavar="FILE",
        help="parquet table with columns series, t_s and value or requests_per_min",
    )
    parser.add_argument(
        "--predictions", type=Path, metavar="FILE", help="parquet file to write every forecast to"
    )
    parser.add_argument(
        "--value", metavar="COLUMN", help="column to foretell (default: value, requests_per_min)"
    )
    parser.add_argument(
        "--model",
        default=SHIPPED,
        metavar="NAME|FOLDER",
        help="a shipped model, one of the workspace, a folder, or none: rules alone (default: %(default)s)",
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="markdown file to write the report to"
    )


def _model(reference: str) -> RateModel | None:
    """Return the model that is asked for; one of the workspace goes before a shipped one of its name."""
    if reference == NONE:
        return None
    own = workspace().models / reference
    return RateModel(str(own) if own.is_dir() else reference)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Roll, judge, write."""
    for flag in ("predictions", "report"):
        path = getattr(arguments, flag)
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise InputError(f"--{flag}", path, "give a file in a folder that exists")
    model = _model(arguments.model)
    model_id = NO_MODEL if model is None else model.model_id
    table = RateTable(arguments.rates, arguments.value)
    with doing_shares("backtest") as progress:
        found = run_backtest(table, model, arguments.predictions, progress)
    if arguments.report is not None:
        write_text(arguments.report, as_markdown(found, model_id))
    if arguments.json:
        print_json({**as_json(found, model_id), **cost()})
        return ExitCode.GOOD
    out = console()
    for line in about(found):
        out.print(line, markup=False)
    for name, part in found.parts.items():
        shown = Table(title=f"part {name}, weighted quantile loss", box=None)
        for head in ("ahead", *head_row()):
            shown.add_column(head, justify="right")
        for title, figures in rows_of(part):
            shown.add_row(title, *row(figures))
        out.print(shown)
    out.print(cost_text())
    return ExitCode.GOOD
