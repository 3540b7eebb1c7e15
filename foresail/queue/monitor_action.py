"""`foresail queue monitor`: counts every 30 s, and alerts."""

from __future__ import annotations

import argparse
from dataclasses import replace

from bus.clock import SystemClock
from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.flags import seconds
from foresail.notifier import Send, add_channel, sender
from foresail.output import console
from foresail.queue.cluster import add_cluster, connected, named_namespaces
from foresail.queue.watching import stack_sink, told_of
from lab.queue.collecting import Watching, watch_queues
from lab.queue.samples import QueueSample
from lab.queue.summary import WatchSummary
from schemas.queue import QueueAlert

EXAMPLES = (
    ("queue monitor --kubeconfig .foresail/twin/kubeconfig", "until Ctrl-C"),
    (
        "queue monitor --kubeconfig FILE --for 1h --channel-type webhook --webhook-url json://host/path",
        "an hour, and tell somebody",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_cluster(parser, "namespaces whose Jobs count (default: %(default)s)")
    parser.add_argument("--interval", type=seconds, default=30.0, metavar="DURATION",
                        help="of the cluster's time, from one look to the next (default: 30s)")  # fmt: skip
    parser.add_argument("--for", dest="for_seconds", type=seconds, metavar="DURATION",
                        help="of the cluster's time (default: until Ctrl-C)")  # fmt: skip
    parser.add_argument("--state", default=".foresail", metavar="FOLDER",
                        help="of a running stack, whose log takes looks and alerts (default: %(default)s)")  # fmt: skip
    add_channel(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Watch; exit with 1 when an alert fired.

    Raises:
        InputError: a namespace or channel cannot be used.
        ConfigError: the cluster cannot be reached.
    """
    send = sender(arguments, "Foresail queues")
    namespaces = named_namespaces(arguments.namespaces)
    watching = Watching(arguments.interval, arguments.for_seconds, namespaces)
    alerts: list[QueueAlert] = []
    stopping.run(_watch(arguments, watching, send, alerts))
    return ExitCode.DIFFERS if alerts else ExitCode.GOOD


async def _watch(
    arguments: argparse.Namespace, watching: Watching, send: Send, alerts: list[QueueAlert]
) -> None:
    summary = WatchSummary()

    def on_look(look: QueueSample) -> None:
        nonlocal summary
        summary = summary.with_look(look.state)
        told.on_look(look)

    async with connected(arguments) as transport, stack_sink(arguments.state) as sink:
        told = told_of(arguments, send, alerts)
        try:
            await watch_queues(
                transport, watching, sink, replace(told, on_look=on_look), SystemClock()
            )
        finally:
            if not arguments.json:
                fired = sum(alert.state == "firing" for alert in alerts)
                console().print(replace(summary, alerts=fired).line(), markup=False)
