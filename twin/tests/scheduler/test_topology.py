"""What is kept of nodes' labels and taints is what a first look would find."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from twin.scheduling.node_rules import NodeRules
from twin.scheduling.topology import HOSTNAME, Topology
from twin.tests.scheduler.cluster import Cluster

ZONE = "topology.kubernetes.io/zone"
SOFT = {"key": "k", "effect": "PreferNoSchedule"}


def change_nodes(cluster: Cluster, rng: Random) -> None:
    """Let a node come or go, or get another zone or taint."""
    name = f"n{rng.randrange(12)}"
    if cluster.store.find("nodes", "", name) is None:
        labels = {ZONE: rng.choice("abc")} if rng.random() < 0.8 else {}
        cluster.node(name, labels=labels, taints=[SOFT] if rng.random() < 0.1 else [])
    elif rng.random() < 0.4:
        cluster.store.delete("nodes", "", name)
    else:
        obj = cluster.store.get("nodes", "", name)
        labels = {**obj["metadata"]["labels"], ZONE: rng.choice("abc")}
        spec = {**obj["spec"], "taints": [SOFT] if rng.random() < 0.1 else []}
        metadata = {**obj["metadata"], "labels": labels}
        cluster.store.replace("nodes", "", name, {**obj, "metadata": metadata, "spec": spec})


def as_list(values: Any) -> Any:
    """Return an array as a list, and None as it is."""
    return None if values is None else values.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_kept_labels_follow_every_change(seed: int) -> None:
    """Nodes come, go, move to another zone and get taints; domains, turns and taints are those of now."""
    rng, cluster = Random(seed), Cluster()
    shape, plugins = cluster.pod("p").shape, cluster.scheduler.plugins
    orders = set()
    for _ in range(200):
        for _ in range(rng.randrange(3)):
            change_nodes(cluster, rng)
        fresh = Topology(cluster.world, cluster.nodes)
        for key in (ZONE, HOSTNAME):
            kept, first = plugins.topology.domains(key), fresh.domains(key)
            assert kept.codes.tolist() == first.codes.tolist()
            assert (kept.size, kept.shown.tolist()) == (first.size, first.shown.tolist())
        order = as_list(plugins.topology.order())
        assert order == as_list(fresh.order())
        orders.add(str(order))
        rules = NodeRules(cluster.world, cluster.nodes, cluster.scheduler.config.filters)
        assert as_list(plugins.rules.soft_taints(shape)) == as_list(rules.soft_taints(shape))
    assert len(orders) > 10
