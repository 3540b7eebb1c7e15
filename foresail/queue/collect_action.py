"""`foresail queue collect FILE`: record what Jobs do, and give them a workload."""

from __future__ import annotations

import argparse
from pathlib import Path

from bus.clock import SystemClock
from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.flags import seconds
from foresail.output import console
from foresail.queue.cluster import add_cluster, connected, named_namespaces
from foresail.queue.watching import recording_sink, told_of
from lab.learning.workloads.sources import settings_of
from lab.learning.workloads.strategies import strategy_jobs
from lab.queue.collecting import Watching, watch_queues
from lab.queue.manifests import LOCAL_QUEUE
from lab.queue.submitting import Submitter

STRATEGIES = ("uniform", "realistic", "burst")
EXAMPLES = (
    (
        "queue collect jobs.fslog --kubeconfig .foresail/twin/kubeconfig --duration 1h --strategy uniform",
        "an hour of jobs",
    ),
    ("queue collect jobs.fslog --kubeconfig FILE --duration 24h --no-workload", "only look"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a new recording")
    add_cluster(parser, "whose Jobs count; the workload goes into the first (default: %(default)s)")
    parser.add_argument("--duration", type=seconds, default=3_600.0, metavar="DURATION",
                        help="of the cluster's time (default: 1h)")  # fmt: skip
    parser.add_argument("--interval", type=seconds, default=10.0, metavar="DURATION",
                        help="of the cluster's time, from one look to the next (default: 10s)")  # fmt: skip
    parser.add_argument("--strategy", choices=STRATEGIES, default="realistic",
                        help="in which the templates are submitted (default: %(default)s)")  # fmt: skip
    parser.add_argument("--settings", metavar="FILE",
                        help="YAML of own templates, intervals and hours")  # fmt: skip
    parser.add_argument("--no-workload", action="store_true", help="submit nothing, only look")
    parser.add_argument("--no-queue", action="store_true",
                        help="submit to plain Kubernetes, past the queue")  # fmt: skip
    parser.add_argument("--keep-jobs", action="store_true",
                        help="leave the workload's Jobs there (default: they are deleted)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, metavar="N",
                        help="of the workload (default: %(default)s)")  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Record until the time is over.

    Raises:
        InputError: a namespace or the file cannot be used.
        ConfigError: the cluster cannot be reached.
    """
    namespaces = named_namespaces(arguments.namespaces)
    watching = Watching(arguments.interval, arguments.duration, namespaces)
    return stopping.run(_collect(arguments, watching))


async def _collect(arguments: argparse.Namespace, watching: Watching) -> ExitCode:
    submitter = None
    if not arguments.no_workload:
        chosen = settings_of(arguments.settings)
        jobs = strategy_jobs(
            arguments.strategy, arguments.seed, arguments.duration, templates=chosen.templates,
            settings=chosen.strategies,
        )  # fmt: skip
        queue = None if arguments.no_queue else LOCAL_QUEUE
        submitter = Submitter(jobs, watching.namespaces[0], queue=queue)
    async with connected(arguments) as transport, recording_sink(arguments.file) as sink:
        told = told_of(arguments, lambda _: True, [])
        try:
            looks = await watch_queues(transport, watching, sink, told, SystemClock(), submitter)
        finally:
            if submitter is not None and not arguments.keep_jobs:
                await submitter.remove(transport)
    if not arguments.json:
        more = "" if submitter is None else f"; {submitter.line()}"
        console().print(f"{looks} looks in {arguments.file}{more}", markup=False)
    return ExitCode.DIFFERS if submitter is not None and submitter.refused else ExitCode.GOOD
