"""Every sentence of a real kube-scheduler about 500 pods is computed from the objects that it saw.

Recorded by `KUBEBUILDER_ASSETS=FOLDER python -m proofs.unscheduled --seed 2 --keep FILE`, kube-scheduler v1.36.2.
"""

from __future__ import annotations

import json
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lab.explanations.frozen_cluster import FrozenCluster
from lab.explanations.scheduling import explain_scheduling
from lab.explanations.smallest_change import open_nodes, smallest_changes

RECORDED = Path(__file__).parent / "recorded" / "unscheduled-1.36.2.json.xz"
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    """Return the objects, with the scheduler's words in the pods' conditions."""
    content: dict[str, Any] = json.loads(lzma.decompress(RECORDED.read_bytes()))
    return content


@pytest.fixture(scope="module")
def cluster(recorded: dict[str, Any]) -> FrozenCluster:
    """Return the copy of that cluster."""
    return FrozenCluster(recorded["objects"], recorded["now"])


def test_every_sentence_is_computed(cluster: FrozenCluster) -> None:
    """The counts by reason, and what preemption found, to the letter."""
    waiting = [pod for pod in cluster.world.pods.values() if pod.unschedulable]
    different = {
        pod.name: (pod.unschedulable, computed)
        for pod in waiting
        if (computed := explain_scheduling(cluster, pod).sentence) != pod.unschedulable
    }

    assert len(waiting) >= 500
    assert different == {}


def test_verdicts_add_up_to_the_counts(cluster: FrozenCluster) -> None:
    """Each node has one filter that rejects it first; the counts are those of the verdicts."""
    for pod in [one for one in cluster.world.pods.values() if one.unschedulable][::10]:
        answer = explain_scheduling(cluster, pod)
        if not answer.verdicts:  # decided before a node was looked at
            continue
        assert len({one.node for one in answer.verdicts}) == answer.nodes
        counted = Counter(reason for one in answer.verdicts for reason in one.reasons)
        assert counted == answer.counts


def test_the_smallest_change_lets_a_pod_run_and_half_of_it_does_not(cluster: FrozenCluster) -> None:
    """On the copy, for the pods that some change helps; the proof applied 200 of them on the real scheduler."""
    helped = 0
    for pod in [one for one in cluster.world.pods.values() if one.unschedulable][::10]:
        for change in smallest_changes(cluster, pod):
            helped += 1
            assert change.node in open_nodes(cluster, pod, change.spec)
            assert change.half is None or open_nodes(cluster, pod, change.half) == ()
    assert helped >= 30
