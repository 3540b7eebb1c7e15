"""A small busy world for hashes, and the process that plays it: `python -m
benchmarks.twin_engine_world EVENTS SEED SLICED` prints its hash and its CPU seconds.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator
from random import Random

from twin.config import TwinConfig
from twin.engine import Engine
from twin.workloads.arrival import NodeShape, WorkloadArrival

GIB = 2**30
NODES = 20


def arrivals(seed: int) -> Iterator[WorkloadArrival]:
    """Yield small services and tasks without end, about two every three seconds."""
    random, at, index = Random(f"{seed}/hash"), 0.0, 0
    while True:
        at += random.expovariate(0.7)
        index += 1
        yield WorkloadArrival(
            time_seconds=round(at, 6),
            name=f"w-{index}",
            kind=random.choice(("service", "task", "task", "task")),
            cpu_request_millicores=random.choice((100, 250, 700, 1_500)),
            memory_request_bytes=random.choice((256, 1_024, 3_000)) * 2**20,
            gpus=random.choice((0, 0, 0, 0, 1)),
            cpu_usage_ratio=random.choice((0.3, 0.6, 1.2)),
            memory_usage_ratio=random.choice((0.5, 0.9, 1.1)),
            duration_seconds=random.choice((15.0, 80.0, 240.0)),
            outcome=random.choice(("succeed", "succeed", "succeed", "fail")),
            replicas=random.choice((1, 1, 2)),
            priority=random.choice((0, 0, 10)),
        )


def world(seed: int) -> Engine:
    """Return the loaded cluster at its start."""
    config = TwinConfig(node_failures_per_day=4.0, change_log_size=500)
    engine = Engine(config, seed=seed)
    shapes = [NodeShape(f"n{i}", 16_000, 64 * GIB, i % 2, {}) for i in range(NODES)]
    engine.add_nodes(shapes)
    engine.load(arrivals(seed))
    return engine


def play(engine: Engine, events: int, *, sliced: bool) -> str:
    """Let so many events happen; return the hash of ten states on the way and of the last."""
    digest, tenth = hashlib.sha256(), max(1, events // 10)
    while (left := events - engine.clock.handled) > 0:
        to_mark = tenth - engine.clock.handled % tenth
        engine.step(min(left, to_mark, 977 if sliced else tenth))
        if engine.clock.handled % tenth == 0:
            digest.update(engine.state_hash().encode())
        if sliced:  # reading and standing still must change nothing
            next(iter(engine.store.list("pods")), None)
            engine.metrics.node_metrics()
    digest.update(engine.state_hash().encode())
    return digest.hexdigest()


def main(events: int, seed: int, *, sliced: bool) -> int:
    """Play, and print what came of it."""
    print(play(world(seed), events, sliced=sliced), f"{time.process_time():.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sliced=sys.argv[3] == "1"))
