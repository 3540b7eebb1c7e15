"""`foresail experiment baseline-cluster STEP`: the predecessors' workload, autoscaler and surge, on real clusters."""

from __future__ import annotations

import argparse

from bus.clock import SystemClock
from bus.errors import ConfigError
from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.experiment.clusters import (
    ACTIVE,
    GivenCluster,
    add_clusters,
    given_clusters,
    transports,
    writable_namespace,
)
from foresail.flags import seconds
from foresail.output import console, print_json
from lab.live import baseline_cluster as preset
from projections.figures import duration
from services.cluster import ClusterRefused

STEPS = {
    "up": "create workload, autoscaler, load generator and a surge of 0",
    "surge": "scale the surge",
    "reset": "remove it all, wait until its pods are gone, and create it again",
    "down": "remove it all; the namespace stays",
}
PATIENCE_SECONDS = 120.0
_PLACE = "--kubeconfig a.yaml --kubeconfig b.yaml --mode active"
EXAMPLES = (
    (f"experiment baseline-cluster up {_PLACE} --namespaces {preset.NAMESPACE}", "in both at once"),
    (
        f"experiment baseline-cluster surge {_PLACE} --namespaces {preset.NAMESPACE}",
        "8 pods more in each",
    ),
    (
        f"experiment baseline-cluster reset {_PLACE} --namespaces {preset.NAMESPACE}",
        "as in the beginning",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    steps = "; ".join(f"{name}: {text}" for name, text in STEPS.items())
    parser.add_argument("step", metavar="STEP", choices=tuple(STEPS), help=steps)
    add_clusters(parser, "do it, in every cluster at the same moment")
    parser.add_argument(
        "--replicas",
        type=int,
        default=preset.SURGE_REPLICAS,
        metavar="N",
        help="pods of the surge; 0 ends it (default: %(default)s)",
    )
    parser.add_argument(
        "--patience",
        type=seconds,
        default=PATIENCE_SECONDS,
        metavar="DURATION",
        help=f"how long pods may take to end (default: {duration(PATIENCE_SECONDS)})",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Do a step, or say what it would do.

    Raises:
        InputError: clusters, namespace or replicas cannot be used.
        PodsLeft: pods did not end in time.
    """
    clusters = given_clusters(arguments)
    namespace = writable_namespace(arguments, preset.NAMESPACE)
    if not 0 <= arguments.replicas <= 1_000:
        raise ConfigError("--replicas", arguments.replicas, "give 0 to 1000")
    if not clusters:
        raise ConfigError("--kubeconfig", "(none)", "give at least one")
    if arguments.mode == ACTIVE:
        stopping.run(_act(arguments, clusters, namespace))
    _show(arguments, clusters, namespace)
    return ExitCode.GOOD


async def _act(arguments: argparse.Namespace, clusters: list[GivenCluster], namespace: str) -> None:
    clock = SystemClock()
    async with transports(clusters) as opened:
        match arguments.step:
            case "up":
                await preset.create(opened, namespace)
            case "surge":
                try:
                    await preset.surge(opened, namespace, arguments.replicas)
                except ClusterRefused as error:
                    if error.status != 404:
                        raise
                    remedy = "a cluster has no surge there; run `baseline-cluster up` first"
                    raise ConfigError("--namespaces", namespace, remedy) from error
            case "reset":
                await preset.reset(opened, namespace, clock, arguments.patience)
            case _:
                await preset.remove(opened, namespace, clock, arguments.patience)


def _show(arguments: argparse.Namespace, clusters: list[GivenCluster], namespace: str) -> None:
    names = [cluster.name for cluster in clusters]
    active = arguments.mode == ACTIVE
    if arguments.json:
        print_json(
            {
                "step": arguments.step,
                "mode": arguments.mode,
                "namespace": namespace,
                "clusters": names,
                "objects": preset.baseline_objects(namespace),
            }
        )
        return
    what = STEPS[arguments.step]
    if arguments.step == "surge":
        what = f"{what} to {arguments.replicas}"
    how = "done" if active else "shadow mode, nothing was written"
    objects = ", ".join(
        f"{one['kind']} {one['metadata']['name']}" for one in preset.baseline_objects(namespace)
    )
    console().print(
        f"{how}: {what}; namespace {namespace} of {', '.join(names)}\n{objects}",
        markup=False,
        soft_wrap=True,
    )
