"""A small busy world for hashes, and the process that plays it.

`python -m benchmarks.twin_engine_world EVENTS SEED SLICED` prints its hash, its CPU seconds and how
many events happened. With `--folder` a run stops after `--cpu-seconds` (its hash is `-` then), and
the same command continues it from the checkpoint it left there.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from twin.__main__ import RARE_COLLECTIONS
from twin.checkpoint import Checkpoint
from twin.port.engine import Engine
from twin.port.settings import TwinConfig
from twin.port.workloads import NodeShape, WorkloadArrival

GIB = 2**30
NODES = 20
TENTHS = 10


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


def play(
    engine: Engine, events: int, marks: list[str], *, sliced: bool, cpu_seconds: float = math.inf
) -> bool:
    """Let so many events happen, and add the hash of each tenth to `marks`.

    Stops early once the process has used so many CPU seconds; False then.
    """
    tenth = max(1, events // TENTHS)
    while (left := events - engine.clock.handled) > 0:
        if time.process_time() > cpu_seconds:
            return False
        to_mark = tenth - engine.clock.handled % tenth
        engine.step(min(left, to_mark, 977 if sliced else 20_000))
        if engine.clock.handled % tenth == 0:
            marks.append(engine.state_hash())
        if sliced:  # reading and standing still must change nothing
            next(iter(engine.store.list("pods")), None)
            engine.metrics.node_metrics()
    return True


def digest_of(marks: list[str], last: str) -> str:
    """Return one hash of the states on the way and of the last."""
    return hashlib.sha256("".join([*marks, last]).encode()).hexdigest()


@dataclass(slots=True)
class Piece:
    """How far a run has come in earlier processes."""

    marks: list[str]
    cpu_seconds: float = 0.0

    @classmethod
    def read(cls, folder: Path, engine: Engine, events: int) -> Piece:
        """Bring the engine to where the last piece stopped; at its start when there was none."""
        path = folder / "state.checkpoint"
        if not path.exists():
            return cls([])
        Checkpoint.read(path, {"seed": engine.seed, "events": events}).restore(engine, path)
        known = json.loads((folder / "piece.json").read_text())
        passed = engine.clock.handled // max(1, events // TENTHS)
        return cls(known["marks"][:passed], known["cpu_seconds"])

    def write(self, folder: Path, engine: Engine, events: int) -> None:
        """Keep what a later process continues from."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "piece.json").write_text(json.dumps(asdict(self)))
        world = {"seed": engine.seed, "events": events}
        Checkpoint.of(engine, world).write(folder / "state.checkpoint")


def main() -> int:
    """Play, and print what came of it."""
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("events", type=int)
    flags.add_argument("seed", type=int)
    flags.add_argument("sliced", type=int, choices=(0, 1))
    flags.add_argument("--folder", type=Path, help="where to stop and go on")
    flags.add_argument("--cpu-seconds", type=float, default=math.inf, help="of this piece")
    options = flags.parse_args()
    engine, events, folder = world(options.seed), options.events, options.folder
    piece = Piece([]) if folder is None else Piece.read(folder, engine, events)
    gc.freeze()
    gc.set_threshold(*RARE_COLLECTIONS)
    done = play(
        engine, events, piece.marks, sliced=bool(options.sliced), cpu_seconds=options.cpu_seconds
    )
    piece.cpu_seconds += time.process_time()
    if folder is not None:
        piece.write(folder, engine, events)
    digest = digest_of(piece.marks, engine.state_hash()) if done else "-"
    print(digest, f"{piece.cpu_seconds:.1f}", engine.clock.handled)
    return 0


if __name__ == "__main__":
    sys.exit(main())
