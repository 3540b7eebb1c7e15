"""How much the twin's served requests cost: exactly beside SimPy, and a day of a cluster by formulas.

Exact: requests a second of CPU time through one pod at load 0.8, draws included, and the same requests through
a SimPy resource of as many servers; the mean latencies of both are printed, since they are the same model.
Day: CPU seconds for simulated hours of the whole engine with 1,000 nodes, 20 Services with 2,000 requests a second
in all (a daily curve) and an autoscaler on each that follows requests per second.

    python -m benchmarks.twin_serving [--hours 24] [--nodes 1000] [--requests 400000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import simpy

from benchmarks.machine import parser, progress, report
from twin.chance import Chance
from twin.port.engine import Engine
from twin.port.settings import TwinConfig
from twin.port.workloads import plain_nodes
from twin.serving.draws import poisson_times, uniforms
from twin.serving.exact import ExactQueue
from twin.serving.service_time import ServiceTime

LOAD, CPU_SECONDS, STEP_SECONDS = 0.8, 0.02, 15.0
SERVICES, REQUESTS_PER_SECOND = 20, 2_000.0
WARM_SECONDS = 900.0
Floats = np.ndarray[Any, np.dtype[np.float64]]


def main() -> int:
    """Measure, print and return 0."""
    flags = parser(__doc__)
    flags.add_argument("--hours", type=float, default=24.0, help="simulated hours of the day row")
    flags.add_argument("--nodes", type=int, default=1_000)
    flags.add_argument("--requests", type=int, default=400_000, help="of each exact row")
    options = flags.parse_args()
    rows: list[dict[str, Any]] = []
    with progress(quiet=options.json) as shown:
        task = shown.add_task("rows", total=4)
        for workers in (1, 4, 16):
            rows.extend(beside_simpy(workers, options))
            shown.advance(task)
        rows.extend(a_day(options))
        shown.advance(task)
    report("served requests of the twin", options, rows)
    return 0


def beside_simpy(workers: int, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the rows of one number of workers."""
    what, mean = f"exact, {workers} workers", 0.0
    began = time.process_time()
    times, needs, latencies = _play(workers, options)
    ours = len(times) / (time.process_time() - began)
    mean = float(latencies.mean())
    yield {"what": what, "unit": "requests / CPU s", "value": round(ours)}
    yield {"what": what, "unit": "mean latency, ms", "value": round(mean * 1_000, 3)}
    some = slice(0, max(1, len(times) // 4))
    began = time.process_time()
    theirs = _in_simpy(workers, times[some], needs[some])
    rate = len(theirs) / (time.process_time() - began)
    yield {"what": f"SimPy, {workers} workers", "unit": "requests / CPU s", "value": round(rate)}
    same = float(np.abs(np.sort(latencies[some]) - np.sort(np.array(theirs))).mean())
    yield {"what": f"SimPy, {workers} workers", "unit": "difference of latencies, us",
           "value": round(same * 1e6, 3)}  # fmt: skip
    yield {"what": f"{workers} workers", "unit": "times SimPy", "value": round(ours / rate, 1)}


def _play(workers: int, options: argparse.Namespace) -> tuple[Floats, Floats, Floats]:
    """Return times, CPU-seconds and latencies of requests through the exact queue, in order of arrival."""
    draws = [Chance(options.seed).draws(name) for name in ("arrivals", "work")]
    service, queue, now = ServiceTime(1.0), ExactQueue(0.0), 0.0
    requests = LOAD * workers / CPU_SECONDS * STEP_SECONDS
    found: list[tuple[Floats, Floats]] = []
    latencies: list[Floats] = []
    for number in range(round(options.requests / requests)):
        times = poisson_times(draws[0].bits("pod", number), now, now + STEP_SECONDS, requests)
        work = service.quantiles(uniforms(draws[1].bits("pod", number), len(times))) * CPU_SECONDS
        now += STEP_SECONDS
        ended = queue.settle(now, times, work, workers=workers, speed=1.0)
        found.append((times, work))
        latencies.append(ended.latencies)
    all_times, all_work = (np.concatenate(column) for column in zip(*found, strict=True))
    return all_times, all_work, np.concatenate(latencies)


def _in_simpy(workers: int, times: Floats, needs: Floats) -> list[float]:
    environment = simpy.Environment()
    pod, latencies = simpy.Resource(environment, capacity=workers), []

    def serve(arrival: float, need: float) -> Iterator[Any]:
        with pod.request() as turn:
            yield turn
            yield environment.timeout(need)
        latencies.append(environment.now - arrival)

    def arrive() -> Iterator[Any]:
        for arrival, need in zip(times.tolist(), needs.tolist(), strict=True):
            yield environment.timeout(arrival - environment.now)
            environment.process(serve(arrival, need))

    environment.process(arrive())
    environment.run()
    return latencies


def a_day(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the rows of the day."""
    engine = Engine(TwinConfig(kube_events=False), seed=options.seed)
    engine.add_nodes(plain_nodes(options.nodes))
    for number in range(SERVICES):
        add_service(engine, f"s{number}", REQUESTS_PER_SECOND / SERVICES)
    engine.advance(engine.now + WARM_SECONDS)
    began, handled = time.process_time(), engine.clock.handled
    engine.advance(engine.now + options.hours * 3_600.0)
    took = time.process_time() - began
    accounts = engine.serving.accounts().values()
    what = f"{options.hours:g} h, {options.nodes} nodes, {SERVICES} Services"
    yield {"what": what, "unit": "CPU s", "value": round(took, 1)}
    yield {"what": what, "unit": "events", "value": engine.clock.handled - handled}
    served = sum(account.served for account in accounts)
    yield {"what": what, "unit": "requests served, million", "value": round(served / 1e6, 1)}


def add_service(engine: Engine, name: str, mean: float) -> None:
    """Add a Service with a daily curve around `mean` requests a second, its Deployment and its HPA."""
    labels, store = {"app": name}, engine.store
    amounts = {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"cpu": "1"}}
    pod = {"containers": [{"name": "c", "image": "i", "resources": amounts}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 4, "selector": {"matchLabels": labels}, "template": template}
    store.create("deployments", "default", {"metadata": {"name": name}, "spec": spec})
    traffic = f"daily low={mean / 2:g} high={mean * 1.5:g}"
    metadata = {"name": name, "annotations": {"foresail.dev/traffic": traffic}}
    ports = [{"port": 80, "targetPort": 8080}]
    store.create(
        "services", "default", {"metadata": metadata, "spec": {"selector": labels, "ports": ports}}
    )
    metric = {
        "type": "Pods",
        "pods": {
            "metric": {"name": "http_requests_per_second"},
            "target": {"type": "AverageValue", "averageValue": "20"},
        },
    }
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    scaled = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 50, "metrics": [metric]}
    store.create(
        "horizontalpodautoscalers", "default", {"metadata": {"name": name}, "spec": scaled}
    )


if __name__ == "__main__":
    raise SystemExit(main())
