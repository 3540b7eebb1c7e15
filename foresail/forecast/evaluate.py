"""Evaluate a risk model against its baselines, on every row at the true base rate.

Prints average precision with intervals over jobs and the report's own checks; `--report` writes
everything as Markdown, JSON and plots.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode, verdict
from foresail.forecast._cost import cost, cost_text
from foresail.forecast._horizons import horizons_of
from foresail.output import console, print_json
from foresail.progress import doing_shares
from foresail.run_log import note_artifact
from foresail.workspace import workspace
from lab.forecast.builds import MANIFEST, sha256_of, write_text
from lab.forecast.dataset import Dataset, open_dataset
from lab.forecast.risk.ages_evaluation import evaluate_ages
from lab.forecast.risk.ages_report import ages_markdown
from lab.forecast.risk.report_types import ReportedSplit, RiskReport
from lab.forecast.risk.run_evaluation import evaluate_model, write_report
from lab.forecast.risk.source import DatasetSource
from lab.forecast.workspace import Workspace
from projections.figures import known_number, percent

EXAMPLES = (("forecast evaluate --dataset mine --report report", "print, and write report.md"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--dataset", required=True, metavar="NAME", help="name of a dataset")
    parser.add_argument(
        "--model", metavar="DIR|NAME", help="a model (default: the one named after the dataset)"
    )
    parser.add_argument(
        "--horizon",
        action="append",
        metavar="DURATION",
        help="one of the model's horizons, such as 15m; repeatable (default: all)",
    )
    parser.add_argument(
        "--split",
        action="append",
        metavar="NAME",
        help="1, 1b, 2, 2b or new-jobs; repeatable (default: all)",
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="also write FILE.md, FILE.json and plots"
    )
    parser.add_argument("--no-plots", action="store_true", help="draw no plots")
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 when one of the report's checks fails"
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Evaluate."""
    place = workspace()
    dataset = open_dataset(arguments.dataset, place)
    horizons = horizons_of(arguments.horizon, 0) if arguments.horizon else ()
    report_file = _report_file(arguments.report)
    if dataset.anchor == "hazard":
        return _run_ages(arguments, dataset, horizons, report_file)
    with doing_shares("evaluating") as progress:
        report = evaluate_model(
            DatasetSource(dataset),
            model_folder(arguments.model or model_name(dataset.name), place),
            sha256_of(dataset.folder / MANIFEST),
            horizons,
            frozenset(arguments.split or ()),
            progress,
        )
        written = (
            write_report(report, report_file, plots=not arguments.no_plots) if report_file else []
        )
    for file in written:
        note_artifact(Path(file), "report")
    if arguments.json:
        print_json({**report, **cost()})
    else:
        _print(report, console())
        for file in written[:1]:
            console().print(f"Report: {file}")
        console().print(cost_text())
    checks = [check for horizon in report["horizons"] for check in horizon["checks"]]
    return verdict(
        differs=arguments.check and not all(check["holds"] for check in checks),
        nothing_compared=arguments.check and not checks,
    )


def _run_ages(
    arguments: argparse.Namespace,
    dataset: Dataset,
    horizons: tuple[int, ...],
    report_file: Path | None,
) -> ExitCode:
    """Judge attempts of every age; one horizon at a time."""
    place = workspace()
    folder = model_folder(arguments.model or model_name(dataset.name), place)
    with doing_shares("evaluating") as progress:
        report = evaluate_ages(
            DatasetSource(dataset),
            folder,
            horizons[0] if horizons else dataset.choice.horizon_minutes,
            sha256_of(dataset.folder / MANIFEST),
            progress,
        )
    text = ages_markdown(report)
    if report_file:
        report_file.parent.mkdir(parents=True, exist_ok=True)
        write_text(report_file, text)
        content = {"model_id": report.model_id, "dataset": report.dataset, **report.figures}
        write_text(report_file.with_suffix(".json"), json.dumps(content, indent=1) + "\n")
        for file in (report_file, report_file.with_suffix(".json")):
            note_artifact(file, "report")
    if arguments.json:
        print_json({"model_id": report.model_id, **report.figures, **cost()})
    else:
        console().print(text, markup=False, soft_wrap=True)
        console().print(cost_text())
    cells = [cell for cell in report.figures["cells"] if cell["judged"]]
    holds = all(cell["holds"] for cell in cells) and all(
        window["brier_skill"] > 0 for window in report.figures["windows"]
    )
    return verdict(
        differs=arguments.check and not holds,
        nothing_compared=arguments.check and not cells,
    )


def model_name(dataset: str) -> str:
    """Return the name of the model that is trained on a dataset by default."""
    return Path(dataset).name.lower().replace("_", "-")


def model_folder(name: str, place: Workspace) -> Path:
    """Return a model's folder: a path that exists, or a name in the workspace."""
    direct = Path(name)
    return direct if direct.is_dir() else place.models / name


def _report_file(path: Path | None) -> Path | None:
    if path is None:
        return None
    if path.is_dir():
        raise InputError("--report", str(path), "it is a folder; name a file, such as report.md")
    return path if path.suffix == ".md" else path.with_name(path.name + ".md")


def _print(report: RiskReport, out: Console) -> None:
    out.print(f"{report['model_id']} on {report['dataset']}: {report['label']}")
    if report["illusion"]:
        out.print("[bold red]ILLUSION: rows drawn at random; believe none of its figures[/]")
    for horizon in report["horizons"]:
        for name, figures in horizon["splits"].items():
            out.print(
                f"\n{horizon['minutes']} min, split {name} ({figures['title']}): {figures['rows']:,} rows, "
                f"{figures['positives']:,} positives, prevalence {percent(figures['prevalence'])}"
            )
            out.print(_models(figures))
            for word in figures["words"]:
                out.print(f"  {word}", markup=False)
        out.print()
        for check in horizon["checks"]:
            mark = "[green]holds[/]" if check["holds"] else "[bold red]FAILS[/]"
            out.print(f"{mark} {check['name']}: {check['text']}")


def _models(figures: ReportedSplit) -> Table:
    table = Table(box=None)
    for head in ("model", "AP", "95 % over jobs", "without 10 worst", "equal jobs", "P/R at 1 %"):
        table.add_column(head)
    for name, model in figures["models"].items():
        ap, top = model["ap"], model["top"][1]
        others = figures["without_worst"].get("models")
        without = others[name]["value"] if others and name in others else math.nan
        table.add_row(
            name,
            known_number(ap["value"]),
            f"{known_number(ap['low'])} to {known_number(ap['high'])}",
            known_number(without),
            known_number(model["ap_equal_jobs"]),
            f"{known_number(top['precision'])} / {known_number(top['recall'])}",
        )
    return table
