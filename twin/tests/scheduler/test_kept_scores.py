"""Scores by amounts that are kept between pods are those that would be computed anew."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from twin.scheduling.node_resources_balanced_allocation import balanced_scores
from twin.scheduling.node_resources_fit import fit_scores
from twin.tests.scheduler.cluster import Cluster


@pytest.mark.parametrize("seed", range(4))
def test_kept_scores_follow_every_change(seed: int) -> None:
    """Pods come and go, nodes grow, shrink and leave; pods of a few kinds are scored in between."""
    rng, cluster = Random(seed), Cluster()
    for index in range(120):
        cluster.node(f"n{index}", cpu=str(rng.choice([2, 4, 8])), memory=f"{rng.choice([4, 8])}Gi")
    kinds = [cluster.pod(f"kind{n}", cpu, memory) for n, (cpu, memory) in enumerate(
        [("1", "1Gi"), ("250m", ""), ("", ""), ("2", "512Mi")])]  # fmt: skip
    config, nodes = cluster.scheduler.config, cluster.nodes
    bound: list[str] = []
    for step in range(150):
        match rng.randrange(5):
            case 0 | 1 | 2:
                bound.append(f"p{step}")
                cluster.pod(bound[-1], "500m", "700Mi", on=f"n{rng.randrange(100)}")
            case 3 if bound:
                name = bound.pop(rng.randrange(len(bound)))
                cluster.store.remove("pods", cluster.store.record("pods", "default", name))
            case _ if rng.random() < 0.5:
                obj = cluster.store.get("nodes", "", f"n{rng.randrange(100)}")
                amounts = {**obj["status"]["allocatable"], "cpu": str(rng.choice([3, 5]))}
                name, status = obj["metadata"]["name"], {**obj["status"], "allocatable": amounts}
                cluster.store.replace(
                    "nodes", "", name, {**obj, "status": status}, subresource="status"
                )
            case _:
                name = f"n{100 + rng.randrange(20)}"
                if cluster.store.find("nodes", "", name) is not None:
                    cluster.store.delete("nodes", "", name)
        needs = rng.choice(kinds).shape.needs
        rows = np.flatnonzero(nodes.present[: nodes.count])
        scores = cluster.scheduler.plugins.amounts.scores(rows, needs)
        expected = fit_scores(nodes, rows, needs, config)
        balanced = balanced_scores(nodes, rows, needs, config.balanced_resources)
        assert scores.tolist() == (expected if balanced is None else expected + balanced).tolist()
