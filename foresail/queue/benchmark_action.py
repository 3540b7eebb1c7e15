"""`foresail queue benchmark`: who decides best about the same jobs, on equal clusters at the same time."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.flags import seconds
from foresail.html_page import write_page
from foresail.output import console, print_json
from foresail.plots import svg_file
from foresail.progress import doing_stages
from foresail.queue.chart import benchmark_svg
from lab.learning.jobs import JobStream
from lab.learning.workloads.published import LENGTH_SECONDS, NODE, NODES
from lab.learning.workloads.sources import PUBLISHED, STRATEGIES, SourceOptions, stream_source
from lab.queue.accounts import METRICS, ArmResult
from lab.queue.arms import DEFAULT, QueueArm, arm_of
from lab.queue.comparing import QueueComparison, comparison_markdown
from lab.queue.playing import QueuePlay, play_arm, prepare
from lab.queue.twin_stage import TwinStage
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
    parser.add_argument("--arms", default=",".join(DEFAULT), metavar="A,B",
                        help="who decides (default: %(default)s)")  # fmt: skip
    parser.add_argument("--reference", metavar="ARM",
                        help="that the others are compared with (default: the first)")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=5, metavar="N",
                        help="streams 1 to N, each played by every arm (default: %(default)s)")  # fmt: skip
    parser.add_argument("--duration", type=seconds, default=LENGTH_SECONDS, metavar="DURATION",
                        help="simulated time (default: 1h)")  # fmt: skip


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
    results = stopping.run(_play_all(arguments, names))
    comparison = QueueComparison(arguments.workload, reference, results)
    _write(arguments, comparison)
    if arguments.json:
        print_json(comparison.as_json())
    else:
        _print(comparison)
    return ExitCode.GOOD


async def _play_all(arguments: argparse.Namespace, names: Sequence[str]) -> list[ArmResult]:
    results = []
    with doing_stages("playing") as advance:
        for seed in range(1, arguments.seeds + 1):
            stream = _stream(arguments, seed)
            play = QueuePlay(stream, seed, arguments.duration, NAMESPACE)
            for name in names:
                results.append(await _play(arm_of(name, seed), play))
                advance("playing", len(results), arguments.seeds * len(names))
                await asyncio.sleep(0)  # an interrupt is heard between arms
    return results


def _stream(arguments: argparse.Namespace, seed: int) -> JobStream:
    options = SourceOptions(split="test", length_seconds=arguments.duration)
    return stream_source(arguments.workload, options)(seed)


async def _play(arm: QueueArm, play: QueuePlay) -> ArmResult:
    """Play an arm on a cluster that is new, and equal to that of every other arm."""
    quota = play.stream.quota
    machines = round(quota.cpu_millicores / NODE.cpu_millicores) or NODES
    cpu, memory = quota.cpu_millicores // machines, quota.memory_bytes // machines
    stage = TwinStage(machines, cpu, memory, play.seed)
    version = await prepare(stage, arm, play)
    return await play_arm(stage, arm, play, version)


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
