"""Build a dataset from a trace: events, decisions to judge, labels, features.

Prints what was read, which ends count as failure, the base rates, and what was set aside,
censored or excluded. Bad input is one line that names fault, file, row and field, and exit code 2.
"""

from __future__ import annotations

import argparse
from typing import Any

from rich.table import Table

from bus.errors import ConfigError
from bus.exit_codes import ExitCode
from features.history import FEATURE_SETS
from foresail.common_form import add_common_form, common_options
from foresail.flags import seconds
from foresail.output import console, print_json, print_note
from foresail.progress import doing_stages
from foresail.run_log import note_artifact
from foresail.workspace import workspace
from lab.forecast.dataset_build import ANCHORS, DatasetPlan, build_dataset
from lab.forecast.labels import LabelChoice
from lab.traces.events import ENDS, failure_kinds
from lab.traces.registry import event_names
from projections.figures import number, percent
from schemas.wording import count_text

NOT_USED = {
    "censored": "censored",
    "excluded_ended_before": "ended before",
    "excluded_uncertain": "uncertain",
}
SHOWN_FILES = 6
SECONDS_PER_MINUTE = 60

EXAMPLES = (
    (
        "forecast dataset --trace google2011 --input clusterdata-2011 --name g11",
        "from Google's 2011 trace",
    ),
    ("forecast dataset --trace recording --input run.fslog --name mine", "from a recording"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--trace", required=True, choices=event_names(), help="format of the input")
    parser.add_argument(
        "--input",
        required=True,
        metavar="FILE|FOLDER",
        help="the trace: a folder, or one file (the tables beside it are read, too)",
    )
    parser.add_argument("--name", required=True, metavar="NAME", help="name of the new dataset")
    parser.add_argument(
        "--anchor",
        choices=ANCHORS,
        default="schedule",
        help="when a prediction is due: at each placement (schedule), every 5 minutes of each running attempt "
        "(grid), at both, so that attempts of every age are learned from (hazard), or in each window of the "
        "common format (default: %(default)s)",
    )
    parser.add_argument(
        "--horizon",
        type=seconds,
        default=900.0,
        metavar="DURATION",
        help="main horizon in whole minutes (default: 15m); labels for 5, 15, 30, 45 and 60 minutes are always made",
    )
    ends = ",".join(kind.name for kind in ENDS)
    parser.add_argument(
        "--failure",
        default="FAIL",
        metavar="ENDS",
        help=f"which ends of a task count as failure, of {ends} (default: %(default)s)",
    )
    parser.add_argument(
        "--features",
        action=_FeatureSet,
        default="full",
        metavar="SET",
        help="feature set: full, live or none; help lists the families of each (default: %(default)s)",
    )
    parser.add_argument(
        "--repair",
        action="store_true",
        help="leave bad rows out and count them instead of stopping",
    )
    parser.add_argument("--replace", action="store_true", help="replace a dataset of the same name")
    add_common_form(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Build."""
    place = workspace()
    plan = DatasetPlan(
        trace=arguments.trace,
        given=place.input(arguments.input),
        name=arguments.name,
        anchor=arguments.anchor,
        choice=LabelChoice(failure_kinds(arguments.failure), _minutes(arguments.horizon)),
        feature_set=arguments.features,
        repair=arguments.repair,
        replace=arguments.replace,
        common=common_options(arguments),
    )
    try:
        with doing_stages("reading") as advance:
            manifest, there = build_dataset(plan, place.processed, advance)
    except KeyboardInterrupt:
        print_note(f"interrupted; the same command goes on with what {plan.name} has so far")
        raise
    folder = place.processed / plan.name
    note_artifact(folder, "dataset")
    if arguments.json:
        print_json({"folder": str(folder), "built_before": there, **manifest})
        return ExitCode.GOOD
    _print(manifest)
    console().print(f"{'Built before' if there else 'Built'}: {folder}")
    return ExitCode.GOOD


class _FeatureSet(argparse.Action):
    """The name of a feature set; `help` prints them all, with the families of features in each, and ends."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option: Any = None,
    ) -> None:
        del option
        if values == "help":
            _print_features()
            parser.exit()
        setattr(namespace, self.dest, values)


def _print_features() -> None:
    for name, feature_set in FEATURE_SETS.items():
        console().print(f"[bold]{name}[/bold]: {count_text(len(feature_set.features), 'feature')}")
        for family in dict.fromkeys(one.key for one in feature_set.features):
            names = [
                f"{one.name} ({one.unit})" for one in feature_set.features if one.key == family
            ]
            console().print(f"  {family}: {', '.join(names)}", markup=False, soft_wrap=True)


def _minutes(horizon_seconds: float) -> int:
    minutes = int(horizon_seconds // SECONDS_PER_MINUTE)
    if minutes < 1 or minutes * SECONDS_PER_MINUTE != horizon_seconds:
        raise ConfigError(
            "--horizon", f"{number(horizon_seconds)}s", "give whole minutes, such as 15m"
        )
    return minutes


def _print(manifest: dict[str, Any]) -> None:
    out = console()
    label, anchors = manifest["label"], manifest["anchors"]
    failures, minutes = " or ".join(label["failures"]), label["horizon_minutes"]
    out.print(
        f"[bold]{manifest['name']}[/bold]  {manifest['trace']}, {manifest['events']:,} task events "
        f"in {len(manifest['segments'])} segments, {anchors['rows']:,} {manifest['anchor']} anchors"
    )
    read = [f"{one['file']} ({one['table']})" for one in manifest["recipe"]["inputs"]]
    out.print(
        f"Read: {', '.join(read[:SHOWN_FILES])}" + (" ..." if len(read) > SHOWN_FILES else "")
    )
    kinds_read = (
        f"{name} {count:,}" for name, count in manifest["events_by_kind"].items() if count
    )
    out.print(f"Events: {', '.join(kinds_read)}.")
    out.print(
        f"Failure is: the running attempt ends in {failures} within the horizon after the decision."
    )
    table = Table("horizon", "rows", "positives", "base rate", *NOT_USED.values(), box=None)
    for row in anchors["by_horizon"]:
        known = row["positives"] + row["negatives"]
        rate = percent(row["positives"] / known) if known else "-"
        mark = " *" if row["minutes"] == minutes else ""
        table.add_row(
            f"{row['minutes']} min{mark}",
            *(f"{known:,}", f"{row['positives']:,}", rate),
            *(f"{row[name]:,}" for name in NOT_USED),
        )
    out.print(table)
    kinds = Table("segment", "rows", *(kind.name for kind in ENDS), box=None)
    for row in anchors["ends"]:
        shares = (percent(row[kind.name] / max(1, row["rows"])) for kind in ENDS)
        kinds.add_row(str(row["segment"]), f"{row['rows']:,}", *shares)
    out.print(f"Ends within {minutes} min:")
    out.print(kinds)
    _print_repairs(manifest)


def _print_repairs(manifest: dict[str, Any]) -> None:
    out = console()
    for one in manifest["set_aside"]:
        out.print(
            f"set aside: {one['file']}, {one['field']}: {one['rows']:,} rows, {one['fault']} "
            f"({'; '.join(one['examples'])})",
            markup=False,
        )
    for note in manifest["notes"]:
        out.print(f"note: {note}", markup=False)
    if manifest["not_read"]:
        out.print(f"not read: {', '.join(manifest['not_read'])}", markup=False)
