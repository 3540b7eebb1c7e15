"""`foresail queue inference`: an exported policy beside a cluster's queue; in shadow, unless it may act."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bus.clock import SystemClock
from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.flags import seconds
from foresail.output import console, print_json, print_note
from foresail.queue.cluster import add_cluster, connected, named_namespaces
from foresail.queue.watching import recording_sink, stack_sink
from lab.learning.comparison.learned_rule import ExportedRule, read_rule
from lab.queue.decider import QueueDecider, QueuePlace
from lab.queue.manifests import LOCAL_QUEUE
from lab.queue.reading import kueue_version
from lab.queue.sinks import Sink
from schemas.queue import QueueChoice, QueueMeans
from services.cluster import ClusterRefused, ClusterUnavailable

SHADOW, ACTIVE = "shadow", "active"
MEANS: tuple[QueueMeans, ...] = ("queue", "priority", "active")
EXAMPLES = (
    (
        "queue inference --model ppo.policy --kubeconfig FILE --once",
        "what it would admit now, and why",
    ),
    (
        "queue inference --model ppo.policy --kubeconfig FILE --record choices.fslog",
        "in shadow, recorded beside what Kueue did; `foresail verify` makes its choices again",
    ),
    (
        "queue inference --model ppo.policy --kubeconfig FILE --mode active --means priority",
        "let it act; refused without a passed gate",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--model", type=Path, required=True, metavar="FILE",
                        help="of `foresail learn export`")  # fmt: skip
    add_cluster(parser, "the one namespace whose Jobs it decides about (default: %(default)s)")
    parser.add_argument("--mode", choices=(SHADOW, ACTIVE), default=SHADOW,
                        help="shadow: say what it would do; active: do it (default: shadow)")  # fmt: skip
    parser.add_argument("--means", choices=MEANS, default=MEANS[0],
                        help="active: move Jobs out of the LocalQueue that holds them, let Workloads go first by "
                        "priority, or deactivate who is to wait (default: %(default)s)")  # fmt: skip
    parser.add_argument("--queue", default=LOCAL_QUEUE, metavar="NAME",
                        help="LocalQueue whose ClusterQueue's quota is handed out (default: %(default)s)")  # fmt: skip
    parser.add_argument("--interval", type=seconds, default=5.0, metavar="DURATION",
                        help="from one decision to the next (default: 5s)")  # fmt: skip
    parser.add_argument("--once", action="store_true", help="decide once and end")
    parser.add_argument("--record", type=Path, metavar="FILE",
                        help="a new recording of Jobs, choices and scores")  # fmt: skip
    parser.add_argument("--state", default=".foresail", metavar="FOLDER",
                        help="of a running stack, whose log takes them else (default: %(default)s)")  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Decide until Ctrl-C, or once.

    Raises:
        InputError: the policy cannot be used, or may not act; or there is no such queue.
        ConfigError: the cluster cannot be reached.
    """
    namespaces = named_namespaces(arguments.namespaces)
    if len(namespaces) > 1:
        raise InputError("--namespaces", arguments.namespaces, "give one")
    rule = read_rule(arguments.model)
    if arguments.mode == ACTIVE and not rule.policy.card.may_act:
        remedy = f"it may only be watched: {rule.policy.card.why_not()}; leave out --mode active"
        raise InputError("--model", arguments.model, remedy)
    stopping.run(_decide(arguments, rule, namespaces[0]))
    return ExitCode.GOOD


async def _decide(arguments: argparse.Namespace, rule: ExportedRule, namespace: str) -> None:
    clock = SystemClock()
    means = arguments.means if arguments.mode == ACTIVE else None
    async with connected(arguments) as transport, _sink(arguments) as sink:
        version = await kueue_version(transport)
        if version is None:
            raise InputError("--kubeconfig", arguments.kubeconfig, "it serves no Kueue")
        place = QueuePlace(transport, version, namespace, arguments.queue)
        decider = QueueDecider(rule, place, sink, means)
        try:
            while True:
                try:
                    for choice in await decider.decide():
                        _tell(arguments, choice)
                except (ClusterUnavailable, ClusterRefused) as error:
                    if arguments.once:
                        raise
                    print_note(f"no decision: {error}")
                if arguments.once:
                    return
                await clock.sleep(arguments.interval)
        finally:
            if not arguments.once:
                await decider.end()


@asynccontextmanager
async def _sink(arguments: argparse.Namespace) -> AsyncIterator[Sink]:
    """Return the recording that was asked for, or the log of the stack that runs, if one does."""
    opened = (
        stack_sink(arguments.state)
        if arguments.record is None
        else recording_sink(arguments.record)
    )
    async with opened as sink:
        yield sink


def _tell(arguments: argparse.Namespace, choice: QueueChoice) -> None:
    if arguments.json:
        print_json(choice.model_dump(mode="json"))
    else:
        console().print(choice.line(), markup=False)
