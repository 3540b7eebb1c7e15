"""Train a model of rates on tables of request rates, as the shipped one was trained.

Of a table with a column `split` the rows of one part are learnt from, of others all. The model directory appears
whole; equal tables and options give equal bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.forecast._cost import cost, cost_text
from foresail.output import console, print_json
from foresail.progress import doing_shares
from foresail.workspace import workspace
from lab.forecast.model_writer import checked_name
from lab.forecast.rates.learning_rows import TRAIN
from lab.forecast.rates.table import RateTable
from lab.forecast.rates.training import Size, train_rates

DEFAULT_NAME = "rates-ahead"

EXAMPLES = (
    ("forecast rates --rates rates.parquet --name mine", "a model of your own tables"),
    ("forecast rates --input PACK/traffic", "the shipped model, from the pack's tables"),
    (
        "forecast rates --input PACK/traffic --without clarknet_1min --name no-clarknet",
        "one that never saw ClarkNet, to see how it does there",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    defaults = Size()
    parser.add_argument(
        "--input", metavar="FOLDER", help="folder whose parquet files are all learnt from"
    )
    parser.add_argument(
        "--rates", action="append", type=Path, metavar="FILE", help="a table of rates; repeatable"
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="TABLE",
        help="table of --input that is not learnt from, by its name without .parquet; repeatable",
    )
    parser.add_argument(
        "--split", default=TRAIN, metavar="NAME", help="part to learn from (default: %(default)s)"
    )
    parser.add_argument(
        "--name",
        default=DEFAULT_NAME,
        metavar="NAME",
        help="name of the model (default: %(default)s)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=defaults.rounds,
        metavar="N",
        help="trees per quantile (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Read, train, write."""
    if arguments.rounds < 1:
        raise InputError("--rounds", arguments.rounds, "give 1 or more")
    name = checked_name(arguments.name)
    place = workspace()
    files = list(arguments.rates or [])
    if arguments.input:
        files += _tables_in(place.input(arguments.input), arguments.without)
    if not files:
        raise InputError("--rates", "nothing", "name a table, or a folder of tables with --input")
    tables = [RateTable(path) for path in files]
    size = Size(rounds=arguments.rounds)
    with doing_shares("training") as progress:
        manifest = train_rates(tables, files, place.models / name, arguments.split, size, progress)
    if arguments.json:
        print_json({"model_id": manifest.model_id, "rows": manifest.data.rows, **cost()})
        return ExitCode.GOOD
    out = console()
    out.print(f"{manifest.model_id} in {place.models / name}, of {manifest.data.rows:,} rows")
    out.print(cost_text())
    return ExitCode.GOOD


def _tables_in(folder: Path, without: Sequence[str]) -> list[Path]:
    """Return the tables of a folder but for some, by name."""
    files = sorted(folder.glob("*.parquet"))
    names = [path.stem for path in files]
    for name in without:
        if name not in names:
            raise InputError("--without", name, f"give one of {', '.join(names) or 'no tables'}")
    return [path for path in files if path.stem not in without]
