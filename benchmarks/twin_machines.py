"""How much a day of a cluster costs whose machines are rented: everything on, for each provisioner.

About a thousand machines of 4 cores, all rented by the provisioner itself for Deployments that fill them; 20
Services with 2,000 requests a second in all (a daily curve, by formulas) and an HPA on each that follows requests
per second, so that machines come and go with the day; mild weather, so that machines and programs fail;
KubeEvents as always. The first hour, in which the machines are rented, is a row of its own.

    python -m benchmarks.twin_machines [--hours 24] [--nodes 1000] [--provisioner karpenter] [--weather off]

CPU seconds are those of the process (user and system), whatever else the machine does. `--shares` takes samples
meanwhile and prints what part of the twin they went to; it costs about a percent.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.cpu_shares import CpuShares
from benchmarks.machine import parser, progress, report
from benchmarks.twin_serving import REQUESTS_PER_SECOND, SERVICES, add_service
from twin.__main__ import RARE_COLLECTIONS
from twin.port.engine import Engine
from twin.port.settings import (
    HealthConfig,
    MachineType,
    NodeGroup,
    Provisioner,
    ProvisioningConfig,
    TwinConfig,
)

RENTING: tuple[Provisioner, ...] = ("cluster-autoscaler", "karpenter")
GIB = 2**30
ZONES = ("a", "b", "c")
MACHINES = (
    MachineType("large", 2_000, 8 * GIB, 0.096, zones=ZONES),
    MachineType("xlarge", 4_000, 16 * GIB, 0.192, zones=ZONES),
)
FILLERS = (("400m", 0.4), ("600m", 0.6), ("900m", 0.9), ("1300m", 1.3), ("1900m", 1.9))
"""Requests of the Deployments that fill the machines, as text and in cores."""
FILL_SECONDS = 3_600.0


def main() -> int:
    """Measure, print and return 0."""
    flags = parser(__doc__)
    flags.add_argument("--hours", type=float, default=24.0, help="simulated hours after the first")
    flags.add_argument("--nodes", type=int, default=1_000)
    flags.add_argument("--provisioner", choices=RENTING, action="append")
    flags.add_argument("--weather", choices=("off", "mild", "rough"), default="mild")
    flags.add_argument("--shares", action="store_true", help="print what part took the time")
    options = flags.parse_args()
    gc.freeze()
    gc.set_threshold(*RARE_COLLECTIONS)  # as the twin's own process does
    rows: list[dict[str, Any]] = []
    names = options.provisioner or RENTING
    with progress(quiet=options.json) as shown:
        task = shown.add_task("provisioners", total=len(names))
        for name in names:
            rows.extend(play_day(name, options))
            shown.advance(task)
    report("a day of rented machines", options, rows)
    return 0


def play_day(name: Provisioner, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the rows of one provisioner."""
    engine = cluster_of(name, options)
    began = time.process_time()
    engine.advance(engine.now + FILL_SECONDS)
    what = f"{name}, first hour"
    yield {"what": what, "unit": "CPU s", "value": round(time.process_time() - began, 1)}
    yield {"what": what, "unit": "machines", "value": len(engine.cloud.machines)}
    shares, counts = CpuShares(), [len(engine.cloud.machines)]
    began, handled = time.process_time(), engine.clock.handled
    with shares if options.shares else contextlib.nullcontext():
        for _ in range(round(options.hours * 60)):
            engine.advance(engine.now + 60.0)
            counts.append(len(engine.cloud.machines))
    took = time.process_time() - began
    what = f"{name}, {options.hours:g} h"
    yield {"what": what, "unit": "CPU s", "value": round(took, 1)}
    yield {"what": what, "unit": "events", "value": engine.clock.handled - handled}
    yield {"what": what, "unit": "machines, fewest", "value": min(counts)}
    yield {"what": what, "unit": "machines, most", "value": max(counts)}
    yield {"what": what, "unit": "pods", "value": engine.store.count("pods")}
    served = sum(account.served for account in engine.serving.accounts().values())
    yield {"what": what, "unit": "requests served, million", "value": round(served / 1e6, 1)}
    yield {"what": what, "unit": "state hash", "value": engine.state_hash()[:16]}
    for part, share in shares.shares(14):
        yield {"what": what, "unit": f"share of {part}, %", "value": round(100 * share, 1)}


def cluster_of(name: Provisioner, options: argparse.Namespace) -> Engine:
    """Return the cluster at its start, without a machine yet."""
    config = TwinConfig(
        provisioning=ProvisioningConfig(
            provisioner=name,
            machines=MACHINES,
            groups=(NodeGroup("xlarge", "xlarge", most=2 * options.nodes),),
        ),
        health=HealthConfig(weather=options.weather),
    )
    engine = Engine(config, seed=options.seed)
    for number in range(SERVICES):
        add_service(engine, f"s{number}", REQUESTS_PER_SECOND / SERVICES)
    cores = options.nodes * 4.0 - SERVICES * 4 * 0.5
    for number, (text, requested) in enumerate(FILLERS):
        replicas = int(cores / len(FILLERS) / requested)
        _add_filler(engine, f"filler-{number}", text, replicas)
    return engine


def _add_filler(engine: Engine, name: str, cpu: str, replicas: int) -> None:
    labels = {"app": name}
    resources = {"requests": {"cpu": cpu, "memory": "512Mi"}}
    pod = {"containers": [{"name": "c", "image": "i", "resources": resources}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    engine.store.create("deployments", "default", {"metadata": {"name": name}, "spec": spec})


if __name__ == "__main__":
    raise SystemExit(main())
