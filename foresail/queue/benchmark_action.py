"""`foresail queue benchmark`: who decides best about the same jobs, on equal clusters at the same time."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from rich.table import Table

from bus.clock import SystemClock
from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.flags import seconds
from foresail.html_page import write_page
from foresail.output import console, print_json
from foresail.plots import svg_file
from foresail.progress import doing_stages
from foresail.queue.chart import benchmark_svg
from foresail.queue.cluster import connected
from lab.experiments.engine import run_local
from lab.learning.workloads.published import LENGTH_SECONDS
from lab.learning.workloads.sources import PUBLISHED, STRATEGIES, settings_of
from lab.queue.accounts import METRICS, ArmResult
from lab.queue.arms import DEFAULT, arm_of
from lab.queue.comparing import QueueComparison, comparison_markdown
from lab.queue.playing import NotPrepared
from lab.queue.side_by_side import (
    ArmTask,
    LiveCluster,
    LiveStage,
    equal_amounts,
    play_live,
    play_simulated,
)
from projections.figures import number

NAMESPACE = "skrueue-test"
RESULTS, REPORT, CHART = "results.json", "report.md", "chart.svg"
EXAMPLES = (
    ("queue benchmark --dir bench", "SKRueue's published hour of 179 jobs, eight arms, five seeds"),
    (
        "queue benchmark --workload burst --duration 8h --arms kubernetes,easy --dir burst",
        "another workload and other arms",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--dir", type=Path, required=True, metavar="DIR",
                        help=f"new folder of {RESULTS}, {REPORT} and {CHART}")  # fmt: skip
    parser.add_argument("--workload", choices=(PUBLISHED, *STRATEGIES), default=PUBLISHED,
                        help="whose jobs come (default: %(default)s)")  # fmt: skip
    parser.add_argument("--settings", metavar="FILE",
                        help="YAML of a strategy's own templates, intervals and hours")  # fmt: skip
    parser.add_argument("--arms", default=",".join(DEFAULT), metavar="A,B",
                        help="who decides (default: %(default)s)")  # fmt: skip
    parser.add_argument("--reference", metavar="ARM",
                        help="that the others are compared with (default: the first)")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=5, metavar="N",
                        help="streams 1 to N, each played by every arm (default: %(default)s)")  # fmt: skip
    parser.add_argument("--duration", type=seconds, default=LENGTH_SECONDS, metavar="DURATION",
                        help="of the clusters' time (default: 1h)")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="arms played at the same time on simulated clusters (default: %(default)s)")  # fmt: skip
    parser.add_argument("--kubeconfig", action="append", default=[], metavar="FILE",
                        help="of a cluster for the arm at this place, instead of a simulated one; one for each arm, "
                        "all played at the same time")  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Play every arm on every stream, and write what came of it.

    Raises:
        InputError: an arm, a number or the folder cannot be used.
    """
    names = tuple(dict.fromkeys(arguments.arms.split(",")))
    arms = [arm_of(name, 0).name for name in names]
    reference = arguments.reference or arms[0]
    if reference not in arms:
        raise InputError("--reference", reference, f"give one of the arms: {', '.join(arms)}")
    if not 1 <= arguments.seeds <= 1_000:
        raise InputError("--seeds", arguments.seeds, "give 1 to 1000")
    if arguments.dir.exists():
        raise InputError("--dir", arguments.dir, "give a new folder; nothing is overwritten")
    if arguments.settings is not None:
        if arguments.workload == PUBLISHED:
            raise InputError(
                "--settings", arguments.settings, f"{PUBLISHED} is fixed; give --workload, too"
            )
        settings_of(arguments.settings)  # before anything is played
    if arguments.jobs < 1:
        raise InputError("--jobs", arguments.jobs, "give 1 or more")
    live = arguments.kubeconfig
    results = (
        stopping.run(_play_live(arguments, names)) if live else _play_simulated(arguments, names)
    )
    comparison = QueueComparison(arguments.workload, reference, results)
    _write(arguments, comparison)
    if arguments.json:
        print_json(comparison.as_json())
    else:
        _print(comparison)
    return ExitCode.GOOD


def _tasks(arguments: argparse.Namespace, names: Sequence[str], seed: int) -> list[ArmTask]:
    return [
        ArmTask(name, arguments.workload, seed, arguments.duration, NAMESPACE, arguments.settings)
        for name in names
    ]


def _play_simulated(arguments: argparse.Namespace, names: Sequence[str]) -> list[ArmResult]:
    """Play every arm on every stream, so many at the same time; return results in that order."""
    seeds = range(1, arguments.seeds + 1)
    tasks = [task for seed in seeds for task in _tasks(arguments, names, seed)]
    results: list[ArmResult] = []
    with doing_stages("playing") as advance:
        for result in run_local(play_simulated, tasks, arguments.jobs, lambda: False):
            results.append(result)
            advance("playing", len(results), len(tasks))
    places = {arm_of(name, 0).name: place for place, name in enumerate(names)}
    return sorted(results, key=lambda one: (one.seed, places[one.arm]))


async def _play_live(arguments: argparse.Namespace, names: Sequence[str]) -> list[ArmResult]:
    """Play every arm on its own cluster, all at the same time; stream after stream."""
    files = arguments.kubeconfig
    if len(files) != len(names):
        remedy = f"give one for each of the {len(names)} arms"
        raise InputError("--kubeconfig", f"{len(files)} files", remedy)
    results: list[ArmResult] = []
    async with AsyncExitStack() as opened:
        clusters = []
        for file in files:
            where = argparse.Namespace(kubeconfig=file, context=None)
            transport = await opened.enter_async_context(connected(where))
            clusters.append(LiveCluster(file, LiveStage(transport, SystemClock())))
        quota = await equal_amounts(clusters)
        with doing_stages("playing") as advance:
            for seed in range(1, arguments.seeds + 1):
                try:
                    tasks = _tasks(arguments, names, seed)
                    results += [one async for one in play_live(clusters, tasks, quota)]
                except NotPrepared as error:
                    raise InputError("--kubeconfig", str(error), "prepare that cluster") from error
                advance("playing", seed, arguments.seeds)
    return results


def _write(arguments: argparse.Namespace, comparison: QueueComparison) -> None:
    try:
        arguments.dir.mkdir(parents=True)
        text = json.dumps(comparison.as_json(), indent=1) + "\n"
        (arguments.dir / RESULTS).write_text(text, encoding="utf-8")
        report = comparison_markdown(comparison, _command(arguments))
        (arguments.dir / REPORT).write_text(report, encoding="utf-8")
    except OSError as error:
        remedy = f"give a folder that can be made ({error.strerror})"
        raise InputError("--dir", arguments.dir, remedy) from error
    write_page(arguments.dir / CHART, svg_file(benchmark_svg(comparison)), "--dir")


def _command(arguments: argparse.Namespace) -> str:
    words = ["foresail queue benchmark", f"--workload {arguments.workload}"]
    words += [
        f"--arms {arguments.arms}",
        f"--seeds {arguments.seeds}",
        f"--dir {arguments.dir.name}",
    ]
    if arguments.settings is not None:
        words.append(f"--settings {arguments.settings}")
    if arguments.duration != LENGTH_SECONDS:
        words.append(f"--duration {number(arguments.duration)}s")
    return " ".join(words)


def _print(comparison: QueueComparison) -> None:
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("")
    for arm in comparison.arms:
        table.add_column(arm.replace("-", "-\n").replace("+", "+\n"), justify="right")
    for name, unit in METRICS.items():
        values = (comparison.metric(arm, name).text for arm in comparison.arms)
        table.add_row(f"{name} {unit}".rstrip(), *values)
    for account in comparison.accounts(comparison.reference):
        values = (str(comparison.accounts(arm)[account]) for arm in comparison.arms)
        table.add_row(f"jobs {account}", *values)
    console().print(table)
