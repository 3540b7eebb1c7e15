"""`foresail experiment calibrate`: what single actions bring, against what was expected of them."""

from __future__ import annotations

import argparse
import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from bus.clock import SystemClock
from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.experiment.calibration_run import CalibrationTask, played_code, sample_world
from foresail.flags import seconds
from foresail.output import console, print_json
from foresail.progress import bar
from lab.calibration.markdown import interval_text, markdown, ratio_text
from lab.calibration.samples import WorldSamples, find_samples, keep_samples
from lab.calibration.table import LEAST_RATIO, MOST_RATIO, KindTable, kind_tables
from lab.experiments.engine import run_local
from projections.figures import percent, signed_text
from services.agents.calibration import KINDS
from services.agents.profiles import FORESAIL

FOLDER = "calibration.results"
CALIBRATED = frozenset({"calibrated", "too few"})

EXAMPLES = (
    ("experiment calibrate --kind power_state:sleep --count 30", "thirty machines asleep, each beside itself awake"),
    ("experiment calibrate --time-limit 10m --json", "ten minutes of every kind, as JSON; the same command resumes"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--kind", metavar="KIND", action="append", choices=KINDS,
                        help=f"kinds of expectations, once or again: {', '.join(KINDS)} (default: all)")  # fmt: skip
    parser.add_argument("--count", type=int, default=200, metavar="N",
                        help="samples of each kind; no world is begun once all have them (default: 200)")  # fmt: skip
    parser.add_argument(
        "--first", type=int, default=1, metavar="SEED", help="first seed (default: 1)"
    )
    parser.add_argument("--worlds", type=int, default=400, metavar="N",
                        help="seeds at most (default: 400)")  # fmt: skip
    parser.add_argument("--dir", metavar="DIR", default=FOLDER,
                        help=f"folder of the results (default: {FOLDER})")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="worlds at the same time (default: one a core)")  # fmt: skip
    parser.add_argument("--time-limit", type=seconds, metavar="DURATION",
                        help="begin no world after this wall time; the same command resumes")  # fmt: skip
    parser.add_argument(
        "--markdown", metavar="FILE", help="also write the page of what was measured"
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Play what has no result yet, and show expected against observed, kind by kind.

    Raises:
        InputError: a number is too small, or the page cannot be written.
    """
    for name, least in (("first", 0), ("count", 1), ("worlds", 1)):
        if getattr(arguments, name) < least:
            raise InputError(f"--{name}", getattr(arguments, name), f"give {least} or more")
    kinds = tuple(sorted(set(arguments.kind or ())))
    worlds, cut = _play(arguments, kinds)
    wanted = [one for one in kind_tables(worlds, arguments.count) if not kinds or one.kind in kinds]
    if arguments.json:
        print_json(
            {
                "worlds": len(worlds),
                "code": played_code(),
                "kinds": [{**asdict(one), "verdict": one.verdict} for one in wanted],
            }
        )
    else:
        _show(wanted, len(worlds))
    if arguments.markdown is not None:
        _write(Path(arguments.markdown), _page(arguments, wanted, len(worlds)))
    if cut:
        return ExitCode.CUT_OFF
    good = all(one.verdict in CALIBRATED for one in wanted)
    return ExitCode.GOOD if good else ExitCode.DIFFERS


def _play(arguments: argparse.Namespace, kinds: tuple[str, ...]) -> tuple[list[WorldSamples], bool]:
    """Return the worlds, and whether the time limit left samples out that are still wanted."""
    folder, code, profile = Path(arguments.dir), played_code(), FORESAIL.name
    seeds = range(arguments.first, arguments.first + arguments.worlds)
    known = [find_samples(folder, profile, seed, code, kinds) for seed in seeds]
    worlds = [one for one in known if one is not None]
    tasks = [
        CalibrationTask(seed, profile, kinds)
        for seed, one in zip(seeds, known, strict=True)
        if one is None
    ]
    clock = SystemClock()
    limit: float | None = arguments.time_limit
    deadline = math.inf if limit is None else clock.monotonic() + limit

    def enough() -> bool:
        sampled = Counter(sample.kind for world in worlds for sample in world.samples)
        return all(sampled[kind] >= arguments.count for kind in kinds or KINDS)

    with bar("playing", len(seeds)) as advance:
        advance(len(worlds))
        for played in run_local(
            sample_world,
            tasks,
            max(1, arguments.jobs),
            lambda: enough() or clock.monotonic() >= deadline,
        ):
            keep_samples(folder, played)
            worlds.append(played)
            advance(len(worlds))
    return worlds, len(worlds) < len(seeds) and not enough()


def _show(tables: Sequence[KindTable], worlds: int) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("kind")
    for heading in ("samples", "expected", "observed", "ratio", "95 %", "worst tenth"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for one in tables:
        table.add_row(
            *(one.kind, f"{one.count} of {one.executed}"),
            *(signed_text(one.expected), signed_text(one.observed)),
            *(ratio_text(one.ratio), interval_text(one), signed_text(one.worst), one.verdict),
        )
    bounds = f"{percent(LEAST_RATIO)} to {percent(MOST_RATIO)}"
    console().print(
        f"{worlds} worlds played; USD an action over its horizon, calibrated from {bounds} of what was expected",
        markup=False,
        soft_wrap=True,
    )
    console().print(table)


def _page(arguments: argparse.Namespace, tables: Sequence[KindTable], worlds: int) -> str:
    flags = {name: getattr(arguments, name) for name in ("first", "worlds", "count")}
    command = " ".join(
        ["foresail experiment calibrate", *(f"--{name} {flags[name]}" for name in flags)]
    )
    kinds = "".join(f" --kind {kind}" for kind in arguments.kind or ())
    return markdown(
        tables, command=command + kinds, profile=FORESAIL.name, code=played_code(), worlds=worlds
    )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            "--markdown", path, f"give a file that can be written ({error.strerror})"
        ) from error
