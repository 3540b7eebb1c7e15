"""`foresail queue inference`: an exported policy beside a cluster's queue; in shadow, unless it may act."""

from __future__ import annotations

import argparse
from pathlib import Path

from bus.clock import SystemClock
from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.flags import seconds
from foresail.output import console, print_json, print_note
from foresail.queue.cluster import add_cluster, connected, named_namespaces
from lab.queue.capacity import offered
from lab.queue.deciding import Consideration, considerations
from lab.queue.manifests import LOCAL_QUEUE
from lab.queue.objects import QUEUE_LABEL
from lab.queue.policies import read_admission_policy
from lab.queue.reading import kueue_version, read_queues
from lab.queue.samples import QueueLedger, take_sample
from projections.figures import number
from services.cluster import MERGE_PATCH, ClusterRefused, ClusterUnavailable, Transport
from services.learned_policy.choice import LearnedPolicy

SHADOW, ACTIVE = "shadow", "active"
EXAMPLES = (
    (
        "queue inference --model ppo.policy --kubeconfig FILE --once",
        "what it would admit now, and why",
    ),
    (
        "queue inference --model ppo.policy --kubeconfig FILE --mode active",
        "let it admit; refused without a passed gate",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--model", type=Path, required=True, metavar="FILE",
                        help="of `foresail learn export`")  # fmt: skip
    add_cluster(parser, "the one namespace whose Jobs it decides about (default: %(default)s)")
    parser.add_argument("--mode", choices=(SHADOW, ACTIVE), default=SHADOW,
                        help="shadow: say what it would do; active: do it (default: shadow)")  # fmt: skip
    parser.add_argument("--interval", type=seconds, default=5.0, metavar="DURATION",
                        help="from one decision to the next (default: 5s)")  # fmt: skip
    parser.add_argument("--once", action="store_true", help="decide once and end")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Decide until Ctrl-C, or once.

    Raises:
        InputError: the policy cannot be used, or may not act.
        ConfigError: the cluster cannot be reached.
    """
    namespaces = named_namespaces(arguments.namespaces)
    if len(namespaces) > 1:
        raise InputError("--namespaces", arguments.namespaces, "give one")
    policy = read_admission_policy(arguments.model)
    if arguments.mode == ACTIVE and not policy.card.may_act:
        remedy = f"it may only be watched: {policy.card.why_not()}; leave out --mode active"
        raise InputError("--model", arguments.model, remedy)
    stopping.run(_decide(arguments, policy, namespaces[0]))
    return ExitCode.GOOD


async def _decide(arguments: argparse.Namespace, policy: LearnedPolicy, namespace: str) -> None:
    clock = SystemClock()
    async with connected(arguments) as transport:
        version = await kueue_version(transport)
        if version is None:
            raise InputError("--kubeconfig", arguments.kubeconfig, "it serves no Kueue")
        quota = await offered(transport)
        ledger = QueueLedger()
        while True:
            try:
                reads = await read_queues(transport, version, (namespace,), machines=False)
                ledger, _ = take_sample(ledger, reads)
                for one in considerations(policy, ledger, quota, reads.time_seconds):
                    _tell(arguments, one)
                    if one.admits is not None and arguments.mode == ACTIVE:
                        await _admit(transport, namespace, one.admits)
            except (ClusterUnavailable, ClusterRefused) as error:
                if arguments.once:
                    raise
                print_note(f"no decision: {error}")
            if arguments.once:
                return
            await clock.sleep(arguments.interval)


async def _admit(transport: Transport, namespace: str, name: str) -> None:
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
    patch = {"metadata": {"labels": {QUEUE_LABEL: LOCAL_QUEUE}}}
    await transport.request("PATCH", path, None, patch, MERGE_PATCH)


def _tell(arguments: argparse.Namespace, one: Consideration) -> None:
    choice = one.choice
    if arguments.json:
        print_json({
            "slots": one.slots, "allowed": choice.allowed, "scores": choice.scores, "action": choice.action,
            "runner_up": choice.runner_up, "admits": one.admits, "mode": arguments.mode,
        })  # fmt: skip
        return
    verb = "admits" if arguments.mode == ACTIVE else "would admit"
    what = "waits" if one.admits is None else f"{verb} {one.admits}"
    margin = "" if choice.margin is None else f", {number(choice.margin)} ahead of {_name(one)}"
    waiting = ", ".join(one.slots)
    console().print(f"{what}{margin}; in its slots: {waiting}", markup=False)


def _name(one: Consideration) -> str:
    """Return the runner-up in words."""
    place = one.choice.runner_up
    return one.slots[place] if place is not None and place < len(one.slots) else "waiting"
