"""Say what a risk model is: data, folds, thresholds by budget, and the features it uses.

With `--dataset` and `--row` it explains one prediction by its greatest contributions.
"""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console
from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.forecast.evaluate import model_folder, model_name
from foresail.output import console, print_json
from foresail.workspace import workspace
from lab.forecast.dataset import open_dataset
from lab.forecast.risk.inspection import describe_model, explain_row
from lab.forecast.risk.source import DatasetSource
from projections.figures import cell, number, percent, signed_text, size
from services.model_directory import read_model

SHOWN = 15

EXAMPLES = (("forecast inspect --model small-risk", "a shipped model"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument(
        "--model", metavar="DIR|NAME", help="a model (default: the one named after the dataset)"
    )
    parser.add_argument(
        "--dataset", metavar="NAME", help="name of the dataset whose row is explained"
    )
    parser.add_argument("--row", type=int, metavar="N", help="row to explain, counted from 0")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Inspect."""
    if arguments.row is not None and arguments.dataset is None:
        raise InputError("--row", arguments.row, "give --dataset and --row together")
    if arguments.model is None and arguments.dataset is None:
        raise InputError("--model", "nothing", "name a model or the dataset that it is named after")
    place = workspace()
    model = read_model(model_folder(arguments.model or model_name(arguments.dataset), place))
    if model.manifest.kind != "risk":
        raise InputError("--model", model.manifest.model_id, "it is a demand model")
    description = describe_model(model)
    if arguments.row is not None:
        source = DatasetSource(open_dataset(arguments.dataset, place))
        description["row"] = explain_row(model, source, arguments.row)
    if arguments.json:
        print_json(description)
    else:
        _print(description, console())
    return ExitCode.GOOD


def _print(description: dict[str, Any], out: Console) -> None:
    data = description["data"]
    out.print(f"{description['model_id']}  {size(description['booster_bytes'])}")
    if description["illusion"]:
        out.print("[bold red]ILLUSION: rows drawn at random; believe none of its figures[/]")
    out.print(f"data: {data['dataset']}, {data['label']}; {data['split']}")
    out.print(
        f"{data['rows']:,} rows, {data['positives']:,} positives; feature set "
        f"{description['feature_set']} {description['feature_set_version']}, {description['features']} columns"
    )
    table = Table(box=None)
    for head in ("threshold", "budget", "value"):
        table.add_column(head)
    for name, value in description["thresholds"].items():
        table.add_row(name, percent(description["budgets"][name]), number(value))
    out.print(table)
    for horizon, one in description["horizons"].items():
        out.print(f"\n{horizon}: {one['members']} members, {one['trees']} trees; share of gain")
        for line in one["by_gain"][:SHOWN]:
            out.print(f"  {percent(line['value']):>6}  {line['feature']} ({line['unit']})")
    for horizon, one in description.get("row", {}).items():
        out.print(
            f"\nrow {one['row']}, {horizon}: raw {number(one['raw'])}, probability {number(one['probability'])}; "
            "contributions in log odds"
        )
        for line in one["contributions"][:SHOWN]:
            out.print(
                f"  {signed_text(line['contribution'])}  {line['feature']} = {cell(line['value'])}"
            )
