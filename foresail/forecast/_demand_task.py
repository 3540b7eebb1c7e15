"""Demand on own data: what `forecast train --task demand` learns from, and what `diagnose` judges it by."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.events import read_entry
from bus.recording import open_recording
from foresail.progress import doing_shares
from foresail.run_log import note_artifact
from lab.forecast.model_writer import checked_name
from lab.forecast.rates.sources import (
    LATER,
    by_kind,
    of_rates,
    of_recording,
    of_windows,
    write_table,
)
from lab.forecast.rates.table import CSV_SUFFIXES, RateTable
from lab.forecast.rates.training import Size, train_rates
from lab.forecast.workspace import Workspace
from projections.figures import percent
from schemas.envelope import Event
from schemas.manifest import ModelManifest
from schemas.wording import count_text

TASKS = ("risk", "demand")
DEFAULT_NAME = "own-demand"


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add which task is meant."""
    parser.add_argument(
        "--task",
        choices=TASKS,
        default=TASKS[0],
        help="failures of pods, or demand (default: %(default)s)",
    )


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Add what demand is learnt from."""
    sources = parser.add_argument_group("--task demand learns from")
    sources.add_argument(
        "--recording", action="append", type=Path, metavar="FILE", help="a recorded run; repeatable"
    )
    sources.add_argument(
        "--windows",
        action="append",
        type=Path,
        metavar="FILE|FOLDER",
        help="usage windows in the common schema; repeatable",
    )
    sources.add_argument(
        "--rates",
        action="append",
        type=Path,
        metavar="FILE",
        help="a table of rates, parquet or CSV (series, t_s, value); repeatable",
    )


def refuse_foreign(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    """Refuse flags that mean nothing to the task.

    Raises:
        InputError: one is given.
    """
    for name in names:
        if getattr(arguments, name):
            raise InputError(
                f"--{name.replace('_', '-')}",
                "given",
                f"it means nothing to --task {arguments.task}; leave it out",
            )


def train_demand(arguments: argparse.Namespace, size: Size, place: Workspace) -> ModelManifest:
    """Write the tables of what is given, and the model that learnt from their earlier rows.

    Raises:
        InputError: nothing is given, or something cannot be used.
    """
    name = checked_name(arguments.name or DEFAULT_NAME)
    share = arguments.train_share
    if not 0.0 < share <= 1.0:
        raise InputError("--train-share", share, "give a number above 0 and at most 1")
    frames = list(_frames(arguments))
    if not frames:
        raise InputError(
            "--task", "demand", "name what to learn from: --recording, --windows or --rates"
        )
    folder = _tables_folder(name, place)
    names = [one for one, _ in frames]
    for one in names:
        if names.count(one) > 1:
            raise InputError("--recording, --windows, --rates", one, "name each file once")
    files = [folder / f"{one}.parquet" for one in names]
    with doing_shares("training") as progress:
        tables = [
            write_table(frame, file, share) for (_, frame), file in zip(frames, files, strict=True)
        ]
        manifest = train_rates(tables, files, place.models / name, "train", size, progress)
    note_artifact(folder, "dataset")
    note_artifact(place.models / name, "model")
    return manifest


def _frames(arguments: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    for path in arguments.recording or ():
        yield from by_kind(path.stem, of_recording(_events(path)))
    for path in arguments.windows or ():
        yield from by_kind(_stem(path), of_windows(path))
    for path in arguments.rates or ():
        yield _stem(path), of_rates(path)


def _stem(path: Path) -> str:
    suffix = next((one for one in CSV_SUFFIXES if path.name.endswith(one)), path.suffix)
    return path.name.removesuffix(suffix)


def _events(path: Path) -> Iterator[Event[Any]]:
    for message in open_recording(path):
        event = read_entry(message).event
        if event is not None:
            yield event


def _tables_folder(name: str, place: Workspace) -> Path:
    """Return where the tables of a model of demand are, beside the datasets of risk."""
    return place.processed / "demand" / name


def demand_tables(name: str, place: Workspace) -> list[RateTable]:
    """Return the tables that a model of the workspace was made of.

    Raises:
        InputError: there are none.
    """
    files = sorted(_tables_folder(name, place).glob("*.parquet"))
    if not files:
        remedy = "name one that `forecast train --task demand` made"
        raise InputError("--dataset", name, remedy)
    return [RateTable(path) for path in files]


def demand_rows(part: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a table's rows: loss beside the best rule, the band, and the share of outcomes below each quantile."""
    for title, one in (
        ("all", part),
        *((f"{minutes} min", row) for minutes, row in part["by_minutes"].items()),
    ):
        ratio = one["ratio"]
        yield (
            title,
            f"{one['rows']:,}",
            percent(one["by_model"]),
            "-" if ratio is None else percent(ratio),
            one["best_rule"],
            percent(one["inside_80"]["forecast"]),
            *(percent(share) for share in one["below"].values()),
        )


def about_training(manifest: ModelManifest, tables: int) -> str:
    """Return what a training made, in one line."""
    rows = count_text(manifest.data.rows, "row")
    return f"{manifest.model_id}: {rows} of {count_text(tables, 'table')}; rows of part {LATER} were not learnt from"
