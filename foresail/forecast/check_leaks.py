"""Delete a dataset's future and show that no feature changes."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from rich.table import Table

from bus.errors import ConfigError
from bus.exit_codes import ExitCode, verdict
from features.history import FEATURE_SETS
from foresail.output import console, print_json
from foresail.workspace import workspace
from lab.forecast.dataset import Dataset, open_dataset
from lab.forecast.leaks import LeakReport, check_dataset, rows_to_check
from projections.figures import duration, number
from schemas.wording import count_text

EXAMPLES = (("forecast check-leaks --dataset mine", "no feature may know the future"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument(
        "--dataset", required=True, metavar="NAME|DIR", help="name or folder of a dataset"
    )
    parser.add_argument(
        "--moments",
        type=int,
        default=2,
        metavar="N",
        help="moments at which to delete the future, evenly spaced (default: %(default)s)",
    )
    parser.add_argument(
        "--features",
        choices=sorted(FEATURE_SETS),
        help="feature set to check (default: the dataset's own)",
    )
    parser.add_argument(
        "--rows",
        type=int,
        default=6_000,
        metavar="N",
        help="rows to compare (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Check and tell."""
    for name in ("moments", "rows"):
        if getattr(arguments, name) < 1:
            raise ConfigError(f"--{name}", getattr(arguments, name), "give 1 or more")
    dataset = open_dataset(arguments.dataset, workspace())
    moments_us = _moments_us(dataset, arguments.moments)
    anchors = rows_to_check(dataset.anchor_chunks(), dataset.rows, moments_us, arguments.rows)
    feature_set = arguments.features or str(dataset.manifest["features"]["feature_set"])
    if feature_set not in FEATURE_SETS:
        sets = " or ".join(sorted(FEATURE_SETS))
        raise ConfigError(
            "--dataset", dataset.name, f"was built without features; give --features {sets}"
        )
    report = check_dataset(dataset.folder, feature_set, anchors, moments_us)
    if arguments.json:
        print_json({"dataset": dataset.name, "feature_set": feature_set, **asdict(report)})
    else:
        _tell(report, feature_set)
    return verdict(differs=bool(report.leaks), nothing_compared=report.rows == 0)


def _moments_us(dataset: Dataset, count: int) -> list[int]:
    first_us = int(dataset.manifest["starts_at_us"])
    last_us = max(end for _, end in dataset.segments.values())
    return [first_us + (last_us - first_us) * (n + 1) // (count + 1) for n in range(count)]


def _tell(report: LeakReport, feature_set: str) -> None:
    moments = ", ".join(duration(moment / 1e6) for moment in report.moments_us)
    console().print(
        f"Deleted everything at or after {moments} and built {count_text(report.rows, 'row')} again: "
        f"{report.features} features ({feature_set}), {len(report.leaks)} leaks."
    )
    if not report.leaks:
        return
    table = Table("feature", "moment (s)", "rows changed")
    for leak in report.leaks:
        table.add_row(leak.feature, number(leak.moment_us / 1e6), f"{leak.rows:,}")
    console().print(table)
