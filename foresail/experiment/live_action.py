"""`foresail experiment live`: two real clusters beside each other, given the same load at the same moment."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
from collections.abc import Sequence
from pathlib import Path

import msgspec
import structlog

from bus.clock import SystemClock
from bus.errors import ConfigError
from bus.exit_codes import ExitCode
from foresail.comparison_table import comparison_table
from foresail.experiment.clusters import (
    ACTIVE,
    GivenCluster,
    add_clusters,
    given_clusters,
    transports,
    writable_namespace,
)
from foresail.flags import seconds
from foresail.html_page import write_page
from foresail.live_page import live_page
from foresail.output import console, print_json
from foresail.progress import doing_stages
from lab.experiments.report import without_nan
from lab.live.history import read_histories
from lab.live.loads import mirrored_plan, unequal_text
from lab.live.markdown import comparison_json, comparison_markdown, summary_lines
from lab.live.stage import LivePlan, LiveStage, open_side
from lab.live.windows import Comparison, compare
from projections.figures import duration
from services.cluster import Transport
from services.exerciser.cluster import NAMESPACE, read_load
from services.exerciser.phases import PHASES
from services.exerciser.settings import ExerciserSettings
from services.kube_lists import ListPage
from services.kube_objects import Node
from services.protection import control_plane_mark

TEXT, PAGE = "comparison.md", "comparison.html"
EXAMPLES = (
    (
        "experiment live --kubeconfig a.yaml --kubeconfig b.yaml",
        "read both; say what would be done",
    ),
    (
        f"experiment live --kubeconfig a.yaml --kubeconfig b.yaml --mode active --namespaces {NAMESPACE} --dir live",
        "nine stimuli, 14 minutes; the load is removed",
    ),
    ("experiment live --dir live", "the report again, from the two logs"),
)
_NODES = msgspec.json.Decoder(ListPage[Node])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_clusters(parser, "apply the stimuli, and take them away again")
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="folder of the two logs and the report; without --kubeconfig it is read",
    )
    parser.add_argument(
        "--phases",
        metavar="N,N",
        type=_phases,
        default=tuple(phase.index for phase in PHASES),
        help="stimuli by their number, 0 to 8, in the order to apply (default: all nine)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=1,
        metavar="N",
        help="how often to apply them; 5 windows or more give intervals (default: 1)",
    )
    for flag, default, text in (
        ("--hold", 60.0, "how long each stays"),
        ("--rest", 30.0, "how long both clusters are left alone, before the first and after each"),
        ("--every", 5.0, "time from one look at both to the next"),
    ):
        parser.add_argument(
            flag,
            type=seconds,
            default=default,
            metavar="DURATION",
            help=f"{text} (default: {duration(default)})",
        )
    parser.add_argument(
        "--seed", type=int, default=7, metavar="N", help="seed of drawn sizes (default: 7)"
    )
    parser.add_argument(
        "--randomise",
        action="store_true",
        help="draw sizes within the phases' ranges, the same for both",
    )
    parser.add_argument(
        "--image",
        metavar="IMAGE",
        default=ExerciserSettings().image,
        help="image of the load's pods (default: %(default)s)",
    )
    parser.add_argument(
        "--unequal",
        action="store_true",
        help="compare clusters whose machines differ; every figure then holds that, too",
    )


def _phases(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if not all(word.isdigit() and int(word) < len(PHASES) for word in words):
        raise argparse.ArgumentTypeError(
            f"{text!r}: give numbers from 0 to {len(PHASES) - 1}, as 1,3,6"
        )
    return tuple(int(word) for word in words)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Compare, or report anew.

    Raises:
        InputError: clusters, namespace, times or folder cannot be used.
    """
    if not arguments.kubeconfig:
        if arguments.dir is None:
            remedy = "give two clusters, or --dir with the logs of an earlier run"
            raise ConfigError("--kubeconfig", "(none)", remedy)
        return _report(Path(arguments.dir), as_json=arguments.json)
    clusters = given_clusters(arguments)
    if len(clusters) != 2:
        raise ConfigError("--kubeconfig", len(clusters), "give it twice: two clusters are compared")
    plan = _plan(arguments)
    if arguments.mode != ACTIVE:
        return asyncio.run(_say(arguments, clusters, plan))
    folder = _folder_name(arguments.dir)
    # What a look did not show stands in the log that it writes; the terminal has the progress.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    whole = asyncio.run(_play(arguments, clusters, plan, folder))
    code = _report(folder, as_json=arguments.json)
    return code if whole else ExitCode.INTERRUPTED


def _plan(arguments: argparse.Namespace) -> LivePlan:
    for flag, value in (("--hold", arguments.hold), ("--every", arguments.every)):
        if value <= 0.0:
            raise ConfigError(flag, value, "give more than 0")
    if arguments.every > arguments.hold:
        remedy = "give at most --hold, so that each stimulus is seen"
        raise ConfigError("--every", duration(arguments.every), remedy)
    if arguments.rounds < 1:
        raise ConfigError("--rounds", arguments.rounds, "give 1 or more")
    if arguments.seed < 0:
        raise ConfigError("--seed", arguments.seed, "give 0 or more")
    return LivePlan(
        namespace=writable_namespace(arguments, NAMESPACE),
        phases=arguments.phases,
        rounds=arguments.rounds,
        hold_seconds=arguments.hold,
        rest_seconds=arguments.rest,
        poll_seconds=arguments.every,
        exerciser=ExerciserSettings(
            seed=arguments.seed, randomise=arguments.randomise, image=arguments.image
        ),
    )


def _folder_name(name: str | None) -> Path:
    if name is None:
        raise ConfigError("--dir", "(none)", "name a new folder for the two logs and the report")
    folder = Path(name)
    if folder.exists():
        raise ConfigError("--dir", folder, "give a new folder; logs are never overwritten")
    return folder


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        remedy = f"give a folder that can be made ({error.strerror})"
        raise ConfigError("--dir", folder, remedy) from error


async def _say(
    arguments: argparse.Namespace, clusters: Sequence[GivenCluster], plan: LivePlan
) -> ExitCode:
    """Read both clusters and say what active mode would do; nothing is written."""
    async with transports(clusters) as opened:
        loads = [await read_load(transport, plan.namespace) for transport in opened]
    nodes = {one.name: load.nodes for one, load in zip(clusters, loads, strict=True)}
    unequal = unequal_text(nodes)
    plans = [
        (PHASES[index], mirrored_plan(PHASES[index], nodes, plan.exerciser))
        for index in plan.phases
    ]
    if arguments.json:
        rows = [
            {"phase": phase.name, "text": one.text, "reason": one.reason} for phase, one in plans
        ]
        print_json(
            {
                "mode": arguments.mode,
                "unequal": unequal,
                "namespace": plan.namespace,
                "stimuli": rows,
            }
        )
        return ExitCode.GOOD
    out = console()
    for phase, one in plans:
        mark = "would be skipped: " if one.reason else ""
        out.print(f"{phase.index} {phase.name}: {mark}{one.text}", markup=False, soft_wrap=True)
    if unequal:
        out.print(f"the clusters differ: {unequal}; active mode asks for --unequal", markup=False)
    out.print(
        f"shadow mode: nothing was written; --mode active --namespaces {plan.namespace} --dir DIR does it",
        markup=False,
        soft_wrap=True,
    )
    return ExitCode.GOOD


async def _play(
    arguments: argparse.Namespace, clusters: Sequence[GivenCluster], plan: LivePlan, folder: Path
) -> bool:
    """Play to the end; False when Ctrl-C or SIGTERM ended it, with the load removed all the same."""
    clock = SystemClock()
    async with transports(clusters) as opened:
        loads = [await read_load(transport, plan.namespace) for transport in opened]
        nodes = {one.name: load.nodes for one, load in zip(clusters, loads, strict=True)}
        unequal = unequal_text(nodes)
        if unequal and not arguments.unequal:
            remedy = "make the two clusters equal, or add --unequal and read every figure with that in mind"
            raise ConfigError("--kubeconfig", unequal, remedy)
        _make_folder(folder)
        first, second = [
            open_side(
                place, one.name, transport, folder, plan, clock, await _control_plane(transport)
            )
            for place, (one, transport) in enumerate(zip(clusters, opened, strict=True), start=1)
        ]
        with doing_stages("comparing") as on_step:
            stage = LiveStage(plan, (first, second), clock, on_step)
            return await _until_stopped(stage)


async def _until_stopped(stage: LiveStage) -> bool:
    """Run; a signal ends it once, and what is behind it (taking the load away) is not cut short."""
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(stage.run())
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _cancel_once, task)
    try:
        await task
    except asyncio.CancelledError:
        return False
    return True


def _cancel_once(task: asyncio.Task[None]) -> None:
    if not task.cancelling():
        task.cancel()


async def _control_plane(transport: Transport) -> list[str]:
    answer = await transport.request("GET", "/api/v1/nodes")
    return [
        node.metadata.name
        for node in _NODES.decode(answer.body).items
        if control_plane_mark(node.metadata.labels, (taint.key for taint in node.spec.taints))
    ]


def _report(folder: Path, *, as_json: bool) -> ExitCode:
    """Compare the two logs of a folder, write both pages, and show the first screen."""
    comparison = compare(*read_histories(folder))
    text, drawn = folder / TEXT, folder / PAGE
    write_page(text, comparison_markdown(comparison))
    write_page(drawn, live_page(comparison))
    if as_json:
        print_json(without_nan(comparison_json(comparison)))
    else:
        _show(comparison, text, drawn)
    return ExitCode.GOOD if comparison.windows else ExitCode.NOTHING_COMPARED


def _show(comparison: Comparison, *files: Path) -> None:
    out = console()
    out.print("\n".join(summary_lines(comparison)), markup=False, soft_wrap=True)
    out.print(comparison_table(comparison))
    out.print("\n".join(map(str, files)), markup=False)
