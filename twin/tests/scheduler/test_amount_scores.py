"""Kept scores are the scores: after any changes they equal what a fresh computation gives."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from twin.engine import Engine
from twin.scheduling.amount_scores import AmountScores, amount_scores
from twin.workloads.arrival import NodeShape

GIB = 2**30


@pytest.mark.parametrize("seed", range(4))
def test_kept_scores_equal_fresh_ones(seed: int) -> None:
    """Pods come and go, nodes change, vanish and come: every row is scored as if never before."""
    random, engine = Random(seed), Engine(seed=seed)
    engine.add_nodes([NodeShape(f"n{i}", 8_000, 32 * GIB, 0, {}) for i in range(150)])
    kept = AmountScores(engine.nodes)
    for number in range(120):
        change(engine, random, number)
        engine.advance(engine.now + random.choice((0.0, 0.5, 3.0)))
        pods = list(engine.world.pods.values())
        needs = random.choice(pods).shape.needs if pods else None
        rows = engine.nodes.present[: engine.nodes.count].nonzero()[0]
        if needs is not None and engine.nodes.complete():
            fresh = amount_scores(engine.nodes, rows, needs)
            assert np.array_equal(fresh, kept.scores(rows, needs))


def change(engine: Engine, random: Random, number: int) -> None:
    """Create or delete a pod, or take a node away, back or to another size."""
    name = f"n{random.randrange(150)}"
    pods = sorted((pod.namespace, pod.name) for pod in engine.world.pods.values())
    match random.randrange(6):
        case 0 if pods:
            engine.store.delete("pods", *random.choice(pods), grace_period_seconds=0)
        case 1 if engine.world.node(name) is not None:
            engine.store.delete("nodes", "", name)
        case 2 if engine.world.node(name) is None:
            engine.add_nodes([NodeShape(name, random.choice((4_000, 8_000)), 32 * GIB, 0, {})])
        case _:
            requests = {"cpu": random.choice(("250m", "1", "2")), "memory": "1Gi"}
            container = {"name": "c", "image": "a:1", "resources": {"requests": requests}}
            pod = {"metadata": {"name": f"p{number}"}, "spec": {"containers": [container]}}
            engine.store.create("pods", "default", pod)
