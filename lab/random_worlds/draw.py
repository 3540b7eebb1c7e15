"""Draws a small world from a seed: machines, Services with traffic, Jobs, and what goes wrong. Pure.

Shares and ranges are invented and wide on purpose: from idle to overfull, from well to badly sized Services,
with and without autoscalers, so that a policy meets what nobody tuned it on.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from typing import Any

HOUR = 3_600.0
GIB = 2**30
UTILISATION = 0.7
"""What a well sized Service uses of its request at its peak."""


@dataclass(frozen=True, slots=True)
class RandomWorld:
    """A world of one hour, as a user's files would give it."""

    seed: int
    rows: tuple[dict[str, Any], ...]
    faults: tuple[dict[str, Any], ...]

    def workload_text(self) -> str:
        """Return the machines and arrivals as a workload file of JSON lines."""
        return "".join(json.dumps(row) + "\n" for row in self.rows)

    def scenario_text(self) -> str:
        """Return what goes wrong as a scenario file; empty where nothing does."""
        if not self.faults:
            return ""
        return json.dumps(
            {"name": f"world-{self.seed}", "seed": self.seed, "faults": list(self.faults)}
        )


def draw_world(seed: int) -> RandomWorld:
    """Return the world of a seed; the same seed gives the same world."""
    rng = random.Random(f"foresail/random-world/{seed}")
    cores = rng.choice((4, 8, 16))
    nodes = [
        {"record": "node", "name": f"n{i}", "cpu_millicores": cores * 1_000, "memory_bytes": 4 * cores * GIB}
        for i in range(rng.randint(4, 10))
    ]  # fmt: skip
    capacity = float(cores * len(nodes))
    services = _services(rng, capacity * rng.uniform(0.05, 0.8))
    jobs = _jobs(rng, capacity * rng.uniform(0.0, 0.4), cores)
    arrivals = sorted([*services, *jobs], key=lambda row: float(row["time_seconds"]))
    scalers = _autoscalers(rng, services)
    return RandomWorld(
        seed, (*nodes, *arrivals), (*scalers, *_faults(rng, has_services=bool(services)))
    )


def _services(rng: random.Random, peak_cores: float) -> list[dict[str, Any]]:
    count = rng.randint(0, 5)
    shares = [rng.lognormvariate(0.0, 0.8) for _ in range(count)]
    rows = []
    for number, share in enumerate(shares):
        cores = peak_cores * share / math.fsum(shares)
        work = round(rng.uniform(0.01, 0.06), 3)
        request = rng.choice((250, 500, 1_000, 2_000))
        needed = cores * 1_000 / request / UTILISATION
        rows.append(
            {
                "record": "arrival",
                "name": f"web-{number}",
                "time_seconds": rng.choice((0, 0, 0, rng.randint(60, 2_400))),
                "kind": "service",
                "cpu_request_millicores": request,
                "memory_request_bytes": GIB // 2,
                "replicas": max(1, round(needed * rng.uniform(0.6, 1.6))),
                "traffic": _traffic(rng, cores / work),
                "request_cpu_seconds": work,
                "request_cv": rng.choice((0.5, 1.0, 2.0)),
            }
        )
    return rows


def _traffic(rng: random.Random, rate: float) -> str:
    """Return the course of a Service's requests, at most `rate` a second."""
    match rng.randrange(3):
        case 0:
            return f"constant requests_per_second={rate * rng.uniform(0.5, 1.0):.1f}"
        case 1:
            return f"daily low={0.2 * rate:.1f} high={rate:.1f} peak_hour={rng.randint(0, 23)}"
        case _:
            every, last = rng.choice((900, 1_800, 3_600)), rng.choice((120, 300, 600))
            base = rng.uniform(0.1, 0.6) * rate
            return (
                f"bursts base={base:.1f} burst={rate:.1f} every_seconds={every} last_seconds={last}"
            )


def _jobs(rng: random.Random, mean_cores: float, most_cores: int) -> list[dict[str, Any]]:
    """Return Jobs that use so many cores in the mean over the hour."""
    rows: list[dict[str, Any]] = []
    left = mean_cores * HOUR
    while left > 0.0 and len(rows) < 120:
        millicores = rng.choice((500, 1_000, 2_000, 4_000))
        millicores = min(millicores, most_cores * 900)
        seconds = rng.choice((60, 300, 900, 1_800))
        left -= millicores / 1_000 * seconds
        rows.append(
            {
                "record": "arrival",
                "name": f"job-{len(rows)}",
                "time_seconds": rng.randint(0, 3_300),
                "kind": "task",
                "cpu_request_millicores": millicores,
                "memory_request_bytes": GIB,
                "duration_seconds": seconds,
                "outcome": "fail" if rng.random() < 0.05 else "succeed",
            }
        )
    return rows


def _autoscalers(rng: random.Random, services: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return HorizontalPodAutoscalers over some of the Services."""
    return tuple(
        {
            "fault": "autoscaler",
            "at_seconds": service["time_seconds"] + 30,
            "deployment": service["name"],
            "min_replicas": max(1, service["replicas"] // 2),
            "max_replicas": 2 * service["replicas"] + 2,
            "cpu_percent": rng.choice((50, 70, 80)),
        }
        for service in services
        if rng.random() < 0.3
    )


def _faults(rng: random.Random, *, has_services: bool) -> list[dict[str, Any]]:
    """Return up to two things that go wrong."""
    faults = []
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        at, lasts = rng.randint(300, 2_700), rng.choice((120, 300, 900))
        when = {"at_seconds": at, "duration_seconds": lasts}
        one = {"nodes": {"pick": 1}}
        kinds: list[dict[str, Any]] = [
            {"fault": "node_death", **when, **one},
            {"fault": "slow_node", **when, **one, "speed_ratio": round(rng.uniform(0.2, 0.6), 2)},
            {"fault": "metrics_gap", **when, **one},
            {"fault": "metrics_stale", **when},
            {"fault": "api_errors", **when, "status": 503, "ratio": 0.5},
        ]
        if has_services:
            kinds.append({"fault": "traffic", **when, "factor": round(rng.uniform(1.5, 3.0), 1)})
        faults.append(rng.choice(kinds))
    return faults
