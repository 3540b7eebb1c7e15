"""Diagnose a model of risk or demand: thresholds from 0.05 to 0.95, calibration, features.

On every row of a split at the true base rate: precision, recall and F1 of an alarm at each threshold, Brier,
and the mean and largest calibration error of 10 bins (ECE, MCE); and what the trees use. Of demand, on the rows
that were not learnt from: loss beside the best simple rule, the band, the share of outcomes below each quantile.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

from rich.console import Console
from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode
from features.demand.past import QUANTILES
from foresail.forecast._demand_task import add_task, demand_rows, demand_tables
from foresail.forecast.evaluate import model_folder, model_name
from foresail.output import console, print_json
from foresail.progress import doing_shares
from foresail.workspace import workspace
from lab.forecast.builds import MANIFEST, sha256_of
from lab.forecast.dataset import open_dataset
from lab.forecast.rates.backtest import run_backtest
from lab.forecast.rates.report import about
from lab.forecast.rates.sources import LATER
from lab.forecast.risk.inspection import describe_model, gain_shares
from lab.forecast.risk.report_types import CalibrationFigures, RiskReport
from lab.forecast.risk.run_evaluation import evaluate_model
from lab.forecast.risk.source import DatasetSource
from projections.figures import known_number, number, percent
from services.inference.rate_model import RateModel
from services.model_directory import read_model

EXAMPLES = (("forecast diagnose --dataset mine", "split 1, which no training row is of"),)
FEATURES = 10
DEFAULT_SPLIT = "1"
BELOW = tuple(f"below q{number(quantile)}" for quantile in QUANTILES)
PROBABILITIES = ("calibrated", "raw", "rolling")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_task(parser)
    parser.add_argument(
        "--dataset", required=True, metavar="NAME", help="name of a dataset; of demand the model's"
    )
    parser.add_argument(
        "--model", metavar="DIR|NAME", help="a model (default: the one named after the dataset)"
    )
    parser.add_argument(
        "--split",
        metavar="NAME",
        help=f"1, 1b, 2, 2b or new-jobs (default: {DEFAULT_SPLIT}); of demand train or later (default: {LATER})",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Diagnose every horizon of the model.

    Raises:
        InputError: dataset, model or split cannot be used.
    """
    if arguments.task == "demand":
        return _diagnose_demand(arguments)
    place = workspace()
    arguments.split = arguments.split or DEFAULT_SPLIT
    dataset = open_dataset(arguments.dataset, place)
    folder = model_folder(arguments.model or model_name(dataset.name), place)
    with doing_shares("diagnosing") as progress:
        report = evaluate_model(
            DatasetSource(dataset),
            folder,
            sha256_of(dataset.folder / MANIFEST),
            (),
            frozenset({arguments.split}),
            progress,
        )
    importance = describe_model(read_model(folder))["horizons"]
    if arguments.json:
        print_json(_diagnosis(report, importance, arguments.split))
    else:
        _print(report, importance, arguments.split, console())
    return ExitCode.GOOD


def _diagnose_demand(arguments: argparse.Namespace) -> ExitCode:
    place = workspace()
    part = arguments.split or LATER
    folder = model_folder(arguments.model or arguments.dataset, place)
    model = RateModel(str(folder))
    tables = demand_tables(arguments.dataset, place)
    for table in tables:
        if part not in table.splits:
            raise InputError("--split", part, f"{table.name} has {', '.join(table.splits)}")
    with doing_shares("diagnosing") as progress:
        found = {table.name: run_backtest(table, model, None, progress) for table in tables}
    features = gain_shares(read_model(folder))[:FEATURES]
    if arguments.json:
        parts = {name: one.parts.get(part) for name, one in found.items()}
        print_json(
            {"model_id": model.model_id, "split": part, "tables": parts, "features": dict(features)}
        )
        return ExitCode.GOOD
    out = console()
    out.print(f"{model.model_id} on {arguments.dataset}, split {part}", markup=False)
    for name, one in found.items():
        shown = _table(
            "ahead",
            "outcomes",
            "by the model",
            "loss to best rule",
            "best rule",
            "in 80 % band",
            *BELOW,
        )
        for cells in demand_rows(one.parts[part]):
            shown.add_row(*cells)
        out.print(f"\n{name}: {'; '.join(about(one))}", markup=False)
        out.print(shown)
    used = _table("feature", "share of gain")
    for name, share in features:
        used.add_row(name, percent(share))
    out.print(used)
    return ExitCode.GOOD


def _diagnosis(report: RiskReport, importance: dict[str, Any], split: str) -> dict[str, Any]:
    horizons = {
        f"{horizon['minutes']} min": {
            "rows": horizon["splits"][split]["rows"],
            "positives": horizon["splits"][split]["positives"],
            "probabilities": {
                name: _known(horizon["splits"][split]["calibration"][name])
                for name in PROBABILITIES
            },
            "features": importance[f"{horizon['minutes']} min"]["by_gain"],
        }
        for horizon in report["horizons"]
    }
    return {"model_id": report["model_id"], "split": split, "horizons": horizons}


def _known(value: Any) -> Any:
    """Return figures with null for NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _known(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_known(entry) for entry in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _print(report: RiskReport, importance: dict[str, Any], split: str, out: Console) -> None:
    out.print(f"{report['model_id']} on {report['dataset']}, split {split}", markup=False)
    for horizon in report["horizons"]:
        figures = horizon["splits"][split]
        out.print(
            f"\n{horizon['minutes']} min: {figures['rows']:,} rows, {figures['positives']:,} positives, "
            f"prevalence {percent(figures['prevalence'])}"
        )
        out.print(_calibration(figures["calibration"]))
        out.print(_sweep(figures["calibration"]["calibrated"]))
        out.print(_features(importance[f"{horizon['minutes']} min"]["by_gain"][:FEATURES]))


def _table(*heads: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left")
    return table


def _calibration(by_name: dict[str, CalibrationFigures]) -> Table:
    table = _table("probabilities", "Brier", "ECE", "MCE", "ECE, equal count", "MCE, equal count")
    for name in PROBABILITIES:
        one = by_name[name]
        cells = (
            one["brier"], one["ece_equal_width"], one["mce_equal_width"], one["ece_equal_count"],
            one["mce_equal_count"],
        )  # fmt: skip
        table.add_row(name, *map(known_number, cells))
    return table


def _sweep(figures: CalibrationFigures) -> Table:
    best = max(
        (row["f1"] for row in figures["sweep"] if not math.isnan(row["f1"])), default=math.nan
    )
    table = _table("threshold", "alarms", "precision", "recall", "F1")
    for row in figures["sweep"]:
        mark = " (best)" if row["f1"] == best else ""
        cells = (row["precision"], row["recall"], row["f1"])
        table.add_row(
            f"{number(row['threshold'])}{mark}", f"{row['alarms']:,}", *map(known_number, cells)
        )
    return table


def _features(rows: list[dict[str, Any]]) -> Table:
    table = _table("feature", "share of gain", "splits", "gain a split", "cover a split")
    for row in rows:
        cells = (number(row["weight"]), number(row["gain"]), number(row["cover"]))
        table.add_row(row["feature"], percent(row["value"]), *cells)
    return table
