"""Shipped models give the same, well-formed workload for the same seed, at the trace's load."""

from __future__ import annotations

from itertools import islice, pairwise, takewhile

import pytest

from twin.workloads import FITTED, Workload, WorkloadArrival, open_workload
from twin.workloads.catalog import load_model
from twin.workloads.workload import CARRIED_IN_SECONDS

SEEDS = range(5)


def carried_in(workload: Workload) -> list[WorkloadArrival]:
    """Arrivals of the carried-in seconds."""
    return list(takewhile(lambda a: a.time_seconds < CARRIED_IN_SECONDS, workload.arrivals))


def cpu_ratio(name: str, nodes: int, seed: int) -> float:
    """Requested over allocatable cpu right after the start."""
    workload = open_workload(name, nodes=nodes, seed=seed)
    requested = sum(entry.cpu_request_millicores for entry in carried_in(workload))
    return requested / sum(node.cpu_millicores for node in workload.nodes)


@pytest.mark.parametrize("name", FITTED)
def test_same_seed_gives_the_same_workload(name: str) -> None:
    """Nodes and the first 500 arrivals are equal for one seed and differ for another."""
    first, second, other = (open_workload(name, nodes=40, seed=seed) for seed in (7, 7, 8))
    arrivals = list(islice(first.arrivals, 500))
    assert first.nodes == second.nodes
    assert arrivals == list(islice(second.arrivals, 500))
    assert arrivals != list(islice(other.arrivals, 500))


@pytest.mark.parametrize("name", FITTED)
def test_arrivals_are_ordered_and_uniquely_named(name: str) -> None:
    """Times never go back and no name comes twice, nodes included."""
    workload = open_workload(name, nodes=100, seed=3)
    arrivals = list(islice(workload.arrivals, 1500))
    assert all(a.time_seconds <= b.time_seconds for a, b in pairwise(arrivals))
    assert len({entry.name for entry in arrivals}) == 1500
    assert len({node.name for node in workload.nodes}) == 100


@pytest.mark.parametrize(
    ("name", "expected", "tolerance"),
    [("openb", 0.048, 0.012), ("google2011", 0.857, 0.05)],
)
@pytest.mark.parametrize("nodes", [50, 100, 400])
def test_load_ratio_stays_at_any_size(
    name: str, expected: float, tolerance: float, nodes: int
) -> None:
    """The carried-in set requests the trace's share of cpu, whatever the number of nodes."""
    ratios = [cpu_ratio(name, nodes, seed) for seed in SEEDS]
    assert sum(ratios) / len(ratios) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("nodes", [30, 300])
def test_first_hour_brings_the_promised_arrivals(name: str, nodes: int) -> None:
    """Over seeds the first hour holds `arrivals_per_hour` arrivals within a fifth."""
    counts = []
    for seed in range(20):
        workload = open_workload(name, nodes=nodes, seed=seed)
        first = list(takewhile(lambda a: a.time_seconds < 3600, workload.arrivals))
        counts.append(sum(a.time_seconds >= CARRIED_IN_SECONDS for a in first))
    mean = sum(counts) / len(counts)
    assert mean == pytest.approx(workload.arrivals_per_hour, rel=0.2)


@pytest.mark.parametrize("name", FITTED)
def test_machines_follow_the_shape_mix(name: str) -> None:
    """The commonest shape has its share of the nodes, to one node."""
    commonest = load_model(name).nodes[0]
    total = sum(row.weight for row in load_model(name).nodes)
    nodes = open_workload(name, nodes=100, seed=1).nodes
    count = sum(node.labels == commonest.labels for node in nodes)
    assert abs(count - 100 * commonest.weight / total) <= 1


@pytest.mark.parametrize("name", FITTED)
def test_models_name_source_licence_and_checksums(name: str) -> None:
    """Every figure's origin travels with it: attribution, licence, sha256 of each file."""
    for entry in load_model(name).provenance:
        assert entry.attribution
        assert entry.licence_url.startswith("https://")
        assert entry.changes
        assert all(len(file.sha256) == 64 for file in entry.files)


def test_endings_are_consistent() -> None:
    """What fails or succeeds says when; usage ratios are shares of the request."""
    for entry in islice(open_workload("openb", nodes=100, seed=2).arrivals, 2000):
        assert entry.outcome == "run" or entry.duration_seconds is not None
        assert 0 <= entry.cpu_usage_ratio < 1.1
        assert 0 <= entry.memory_usage_ratio < 1.1


def test_profiles_keep_the_mean_and_last_a_life() -> None:
    """Windows drawn from a life profile last as long as the pod and use its mean on the whole."""
    windowed = 0
    for entry in islice(open_workload("surf", nodes=200, seed=3).arrivals, 400):
        if entry.duration_seconds is None or not entry.usage_windows:
            continue
        windowed += 1
        seconds = sum(window.seconds for window in entry.usage_windows)
        used = sum(window.seconds * window.cpu_ratio for window in entry.usage_windows)
        assert seconds == pytest.approx(entry.duration_seconds, abs=0.01)
        assert used / seconds == pytest.approx(entry.cpu_usage_ratio, abs=2e-3)
        assert {window.memory_ratio for window in entry.usage_windows} == {entry.memory_usage_ratio}
    assert windowed > 300


@pytest.mark.parametrize("name", FITTED)
def test_the_start_says_how_it_was_sampled(name: str) -> None:
    """The description names the share of the trace's pods and what keeps the load ratio."""
    lines = open_workload(name, nodes=50, seed=1).description
    share = 50 / load_model(name).reference_nodes
    assert any(f"{share:.4f}" in line and "stay the same" in line for line in lines)
