"""`foresail queue setup`: what a cluster has and lacks for queues; written only with `--apply`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.output import console, print_json
from foresail.queue.cluster import add_cluster, connected, named_namespaces
from lab.queue.applying import AppliedStep, apply
from lab.queue.capacity import offered
from lab.queue.manifests import QueueSetup, manifests
from lab.queue.reading import kueue_version
from services.cluster import Transport

EXAMPLES = (
    (
        "queue setup --kubeconfig .foresail/twin/kubeconfig",
        "what would be made, checked by the API server",
    ),
    ("queue setup --kubeconfig .foresail/twin/kubeconfig --apply", "make it"),
)
DRY_RUN = "Dry run: nothing was changed; --apply does it."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_cluster(parser, "namespaces of the Jobs; each gets a LocalQueue (default: %(default)s)")
    parser.add_argument("--strategy", choices=("BestEffortFIFO", "StrictFIFO"),
                        default="BestEffortFIFO", help="of the ClusterQueue (default: %(default)s)")  # fmt: skip
    parser.add_argument("--quota-ratio", type=float, default=1.0, metavar="X",
                        help="quota over what ready nodes offer (default: %(default)s)")  # fmt: skip
    parser.add_argument("--apply", action="store_true", help="make it (default: a dry run)")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Check, plan, and with `--apply` do.

    Raises:
        InputError: a namespace or ratio cannot be used, or Kueue is not installed.
        ConfigError: the cluster cannot be reached.
    """
    if not 0 < arguments.quota_ratio <= 10:
        raise InputError("--quota-ratio", arguments.quota_ratio, "give more than 0 and at most 10")
    namespaces = named_namespaces(arguments.namespaces)
    return stopping.run(_setup(arguments, namespaces))


async def _setup(arguments: argparse.Namespace, namespaces: Sequence[str]) -> ExitCode:
    async with connected(arguments) as transport:
        setup = await _planned(transport, arguments, namespaces)
        steps = await apply(transport, list(manifests(setup)), dry_run=not arguments.apply)
    if arguments.json:
        print_json({"dry_run": not arguments.apply, "steps": [asdict(step) for step in steps]})
    else:
        _print(steps, applied=arguments.apply)
    bad = any(step.step in {"foreign", "refused"} for step in steps)
    return ExitCode.DIFFERS if bad else ExitCode.GOOD


async def _planned(
    transport: Transport, arguments: argparse.Namespace, namespaces: Sequence[str]
) -> QueueSetup:
    version = await kueue_version(transport)
    if version is None:
        remedy = "install Kueue there (kueue.sigs.k8s.io), or `foresail twin up --kueue on`"
        raise InputError("--kubeconfig", arguments.kubeconfig, f"it serves no Kueue; {remedy}")
    there = await offered(transport)
    if there.cpu_millicores == 0:
        raise InputError("--kubeconfig", arguments.kubeconfig, "it has no ready node to share out")
    ratio = arguments.quota_ratio
    return QueueSetup(
        namespaces,
        int(ratio * there.cpu_millicores),
        int(ratio * there.memory_bytes),
        arguments.strategy,
        version,
    )


def _print(steps: Sequence[AppliedStep], *, applied: bool) -> None:
    out = console()
    table = Table(box=None, padding=(0, 1, 0, 0))
    for heading in ("", "kind", "object", ""):
        table.add_column(heading, overflow="fold")
    for step in steps:
        table.add_row(step.step, step.kind, step.name, step.detail)
    out.print(table)
    if not applied:
        out.print(DRY_RUN, markup=False)
