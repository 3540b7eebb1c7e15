"""`foresail twin show`: plays a day of a workload on virtual time and draws it, in the terminal or as a page."""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from bus.exit_codes import ExitCode
from foresail.flags import seconds
from foresail.html_page import write_page
from foresail.output import console, print_json
from foresail.progress import bar
from foresail.settings import StackSettings, resolve
from foresail.stack.preflight import check_file
from foresail.stack.workload import choose_workload
from foresail.twin.cluster_arguments import add_cluster_arguments
from projections.figures import duration
from twin.config import TwinConfig
from twin.engine import Engine
from twin.faults import read_scenario
from twin.settings import provisioning_of
from twin.workloads import open_workload

DAY = 86_400.0

EXAMPLES = (
    ("twin show --for 6h --scenario storm.yaml", "six hours in the terminal"),
    ("twin show --out day.html", "a day as a page"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_cluster_arguments(parser)
    parser.add_argument("--for", dest="for_seconds", type=seconds, default=DAY, metavar="DURATION",
                        help="how much cluster time to play (default: 24h)")  # fmt: skip
    parser.add_argument(
        "--out",
        metavar="FILE.html",
        help="write one self-contained HTML page instead of drawing in the terminal",
    )


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Play, then print the day or write the page.

    Raises:
        InputError: a workload, scenario, file of machines or the page's file cannot be used.
    """
    from foresail.day.pages import day_page, figures_of  # noqa: PLC0415 - the engine is heavy
    from foresail.day.samples import play_day  # noqa: PLC0415
    from foresail.day.terminal import day_lines  # noqa: PLC0415

    settings = _settings(arguments)
    with tempfile.TemporaryDirectory() as folder:
        engine, about = _engine(settings, arguments, Path(folder))
        shown = (
            nullcontext(lambda _: None) if arguments.json else bar("playing", arguments.for_seconds)
        )
        with shown as advance:
            day = play_day(engine, arguments.for_seconds, advance)
    if arguments.out is not None:
        title = f"{duration(day.seconds)} of {settings.run.workload}"
        write_page(Path(arguments.out), day_page(day, title, about))
    if arguments.json:
        print_json({**asdict(day), "figures": dict(figures_of(day))})
        return ExitCode.GOOD
    console().print(about, markup=False, soft_wrap=True)
    if arguments.out is not None:
        console().print(f"written: {arguments.out}", markup=False, soft_wrap=True)
    else:
        for line in day_lines(day, console().width):
            console().print(line, markup=False, highlight=False, soft_wrap=True)
    return ExitCode.GOOD


def _settings(arguments: argparse.Namespace) -> StackSettings:
    names = ("nodes", "workload", "seed", "data", "provisioner", "machines")
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
    config = TwinConfig(provisioning=provisioning_of(run.provisioner, machines))
    engine = Engine(config, run.seed)
    engine.add_nodes(workload.nodes)
    engine.load(workload.arrivals)
    if arguments.scenario is not None:
        engine.faults.play(read_scenario(Path(arguments.scenario)))
    return engine, f"{chosen.description[0]}; seed {run.seed}"
