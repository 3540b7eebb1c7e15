"""`foresail twin show`: draws a day, in the terminal or as a page: one that it plays on virtual time, or what a
recording or a stack's log holds.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from bus.errors import InputError
from bus.events import read_events
from bus.exit_codes import ExitCode
from foresail.day.day import Day
from foresail.day.pages import day_page, figures_of
from foresail.day.recorded import READS, DayReader
from foresail.day.terminal import day_lines
from foresail.flags import seconds
from foresail.html_page import write_page
from foresail.log_source import open_source, reading_verdict
from foresail.output import console, print_json
from foresail.progress import bar, reading_source
from foresail.settings import StackSettings, resolve
from foresail.stack.preflight import check_file
from foresail.stack.workload import choose_workload
from foresail.twin.cluster_arguments import add_cluster_arguments
from projections.figures import duration
from projections.times import clock, cluster_clock
from twin.port.engine import Engine
from twin.port.files import provisioning_of, read_scenario
from twin.port.settings import WEATHERS, HealthConfig, TwinConfig
from twin.port.workloads import open_workload

DAY = 86_400.0
PLAYED = ("workload", "nodes", "seed", "scenario", "provisioner", "machines", "data", "weather")
"""Arguments of a day that is played."""

EXAMPLES = (
    ("twin show --for 6h --scenario storm.yaml", "six hours in the terminal"),
    ("twin show --out day.html", "a day as a page"),
    ("twin show --recording run.fslog", "the day that a recording holds"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_cluster_arguments(parser)
    parser.add_argument(
        "--for",
        dest="for_seconds",
        type=seconds,
        metavar="DURATION",
        help="how much cluster time to play (default: 24h), or to draw of the end of a log (default: all)",
    )
    parser.add_argument(
        "--weather",
        metavar="LEVEL",
        help=f"how much goes wrong by itself: {', '.join(WEATHERS)} (default: mild)",
    )
    parser.add_argument(
        "--recording",
        metavar="FILE",
        help="draw what this recording holds instead of playing a day",
    )
    parser.add_argument(
        "--state",
        metavar="FOLDER",
        help="draw the log of the running or last stack of this state folder instead",
    )
    parser.add_argument(
        "--out",
        metavar="FILE.html",
        help="write one self-contained HTML page instead of drawing in the terminal",
    )


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the day or write the page.

    Raises:
        InputError: a workload, scenario, file of machines, log or the page's file cannot be used.
    """
    if arguments.recording is None and arguments.state is None:
        _write(arguments, *_played_day(arguments))
        return ExitCode.GOOD
    code, day, what, about = await _logged_day(arguments)
    _write(arguments, day, what, about)
    return code


def _played_day(arguments: argparse.Namespace) -> tuple[Day, str, str]:
    """Play; return the day, what it is of, and a sentence about it."""
    from foresail.day.samples import play_day  # noqa: PLC0415 - the engine is heavy

    settings = _settings(arguments)
    length = DAY if arguments.for_seconds is None else arguments.for_seconds
    with tempfile.TemporaryDirectory() as folder:
        engine, about = _engine(settings, arguments, Path(folder))
        shown = nullcontext(lambda _: None) if arguments.json else bar("playing", length)
        with shown as advance:
            return play_day(engine, length, advance), str(settings.run.workload), about


async def _logged_day(arguments: argparse.Namespace) -> tuple[ExitCode, Day, str, str]:
    """Read a log; return the code, the day, what it is of, and a sentence about it.

    Raises:
        InputError: something to play was asked for as well, or the log holds no two observations.
    """
    flag = "--recording" if arguments.recording is not None else "--state"
    given = arguments.recording or arguments.state
    for name in (*PLAYED, "state" if flag == "--recording" else ""):
        if getattr(arguments, name, None) is not None:
            raise InputError(f"--{name}", getattr(arguments, name),
                             f"leave it out: {flag} draws what was, and plays nothing")  # fmt: skip
    state = Path(arguments.state or ".foresail")
    async with (
        open_source(arguments.recording, state) as source,
        reading_source(source, "reading the log"),
    ):
        reader = DayReader()
        async for entry in read_events(source.messages(READS)):
            if entry.event is None:
                reader.unreadable += 1
            else:
                reader.add(entry.event)
    day = reader.day(math.inf if arguments.for_seconds is None else arguments.for_seconds)
    if day is None:
        remedy = "give a log with at least two observations; its reading ended too early"
        raise InputError(flag, given, remedy if source.damage else remedy.partition(";")[0])
    first, last = clock(day.start_time), cluster_clock(day.start_time + day.seconds)
    about = f"{Path(given).name}, {first} to {last}; not in a log: {'; '.join(day.missing)}"
    if reader.unreadable:
        about += f"; {reader.unreadable} messages could not be read"
    return reading_verdict(source), day, Path(given).name, about


def _write(arguments: argparse.Namespace, day: Day, what: str, about: str) -> None:
    """Print the day, or write the page."""
    if arguments.out is not None:
        title = f"{duration(day.seconds)} of {what}"
        write_page(Path(arguments.out), day_page(day, title, about))
    if arguments.json:
        print_json({**asdict(day), "figures": dict(figures_of(day))})
        return
    console().print(about, markup=False, soft_wrap=True)
    if arguments.out is not None:
        console().print(f"written: {arguments.out}", markup=False, soft_wrap=True)
    else:
        for line in day_lines(day, console().width):
            console().print(line, markup=False, highlight=False, soft_wrap=True)


def _settings(arguments: argparse.Namespace) -> StackSettings:
    names = ("nodes", "workload", "seed", "data", "weather", "provisioner", "machines")
    return resolve(None, os.environ, {f"run.{name}": getattr(arguments, name) for name in names})


def _engine(
    settings: StackSettings, arguments: argparse.Namespace, folder: Path
) -> tuple[Engine, str]:
    """Return the engine, ready to play, and a sentence about what it plays."""
    run = settings.run
    check_file("--scenario", arguments.scenario)
    check_file("--machines", arguments.machines)
    chosen = choose_workload(run, folder)
    workload = open_workload(chosen.name_or_path, nodes=run.nodes, seed=run.seed)
    machines = None if run.machines is None else Path(run.machines)
    config = TwinConfig(
        provisioning=provisioning_of(run.provisioner, machines),
        health=HealthConfig(weather=run.weather),
    )
    engine = Engine(config, run.seed)
    engine.add_nodes(workload.nodes)
    engine.load(workload.arrivals)
    if arguments.scenario is not None:
        engine.faults.play(read_scenario(Path(arguments.scenario)))
    return engine, f"{chosen.description[0]}; seed {run.seed}"
