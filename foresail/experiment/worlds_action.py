"""`foresail experiment worlds`: random small worlds, and how many of them acting made worse."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from bus.clock import SystemClock
from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.experiment.world_run import WorldTask, play_world
from foresail.flags import seconds
from foresail.output import console, print_json
from foresail.progress import bar
from lab.experiments.code_version import code_version
from lab.experiments.engine import run_local
from lab.random_worlds.results import WorldResult, find_result, keep_result, worst_of
from projections.figures import percent, signed_text
from services.agents.profiles import PROFILES

MOST_LOSS_RATIO = 0.02
"""Of what the untouched world costs; fixed before any world was played."""
FOLDER = "worlds.results"

EXAMPLES = (
    ("experiment worlds --count 20", "twenty hours of small worlds beside the same worlds untouched"),
    ("experiment worlds --count 2000 --time-limit 10m", "ten minutes of them; the same command resumes"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--profile", metavar="NAME", default="foresail", choices=tuple(PROFILES),
                        help="policy profile (default: foresail)")  # fmt: skip
    parser.add_argument(
        "--first", type=int, default=1, metavar="SEED", help="first seed (default: 1)"
    )
    parser.add_argument("--count", type=int, default=100, metavar="N", help="seeds (default: 100)")
    parser.add_argument("--dir", metavar="DIR", default=FOLDER,
                        help=f"folder of the results (default: {FOLDER})")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="worlds at the same time (default: one a core)")  # fmt: skip
    parser.add_argument("--time-limit", type=seconds, metavar="DURATION",
                        help="begin no world after this wall time; the same command resumes")  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Play what has no result yet, and show the worst worlds.

    Raises:
        InputError: no seed is asked for, or a negative one.
    """
    for name, least in (("first", 0), ("count", 1)):
        if getattr(arguments, name) < least:
            raise InputError(f"--{name}", getattr(arguments, name), f"give {least} or more")
    seeds = range(arguments.first, arguments.first + arguments.count)
    results = _play(seeds, arguments)
    harmed = [one for one in results if one.loss_ratio > MOST_LOSS_RATIO]
    if arguments.json:
        print_json(
            {
                "worlds": len(seeds),
                "played": len(results),
                "harmed": [one.seed for one in harmed],
                "worst": [one.model_dump() for one in worst_of(results)],
            }
        )
    else:
        _show(seeds, results, len(harmed))
    if len(results) < len(seeds):
        return ExitCode.CUT_OFF
    return ExitCode.DIFFERS if harmed else ExitCode.GOOD


def _play(seeds: Sequence[int], arguments: argparse.Namespace) -> list[WorldResult]:
    folder, code = Path(arguments.dir), code_version()
    known = [find_result(folder, arguments.profile, seed, code) for seed in seeds]
    results = [one for one in known if one is not None]
    tasks = [
        WorldTask(seed, arguments.profile)
        for seed, one in zip(seeds, known, strict=True)
        if one is None
    ]
    clock = SystemClock()
    limit: float | None = arguments.time_limit
    deadline = math.inf if limit is None else clock.monotonic() + limit
    with bar("playing", len(seeds)) as advance:
        advance(len(results))
        for played in run_local(
            play_world, tasks, max(1, arguments.jobs), lambda: clock.monotonic() >= deadline
        ):
            keep_result(folder, played)
            results.append(played)
            advance(len(results))
    return results


def _show(seeds: Sequence[int], results: Sequence[WorldResult], harmed: int) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("worst seeds", "acting changed", "of its cost", "actions", "refused"):
        table.add_column(heading, justify="right")
    for one in worst_of(results):
        table.add_row(
            str(one.seed),
            f"{signed_text(one.gain)} USD",
            percent(-one.loss_ratio),
            str(one.executed),
            str(one.refused),
        )
    helped = sum(one.gain > 0.0 for one in results)
    console().print(
        f"{len(results)} of {len(seeds)} worlds played: acting helped in {helped}, and made {harmed} worse by more "
        f"than {percent(MOST_LOSS_RATIO)} of what they cost left alone",
        markup=False,
        soft_wrap=True,
    )
    console().print(table)
