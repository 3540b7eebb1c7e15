"""Opening by name, and the speed that makes a workload worth watching."""

from __future__ import annotations

from random import Random

import pytest

from inputs.errors import InputError
from twin.workloads import open_workload, suggest_speed
from twin.workloads.node_mix import allot
from twin.workloads.quantiles import WeightedTable, at_rank


def test_idle_has_nodes_and_no_arrivals() -> None:
    """Idle gives equal nodes, nothing ever arrives, and it is played at real time."""
    workload = open_workload("idle", nodes=4, seed=0)
    assert len(workload.nodes) == 4
    assert len({node.cpu_millicores for node in workload.nodes}) == 1
    assert list(workload.arrivals) == []
    assert suggest_speed(workload.arrivals_per_hour) == 1


@pytest.mark.parametrize(("name", "nodes"), [("opnb", 3), ("openb", 0), ("no/such.csv", 3)])
def test_unknown_names_and_sizes_are_input_errors(name: str, nodes: int) -> None:
    """A misspelt workload, a missing file or an empty cluster is refused with a remedy."""
    with pytest.raises(InputError):
        open_workload(name, nodes=nodes, seed=0)


@pytest.mark.parametrize(
    ("per_hour", "speed"),
    [(0, 1), (12, 60), (47, 26), (328, 4), (40_901, 1), (1e-9, 60)],
)
def test_speed_shows_an_arrival_every_three_seconds(per_hour: float, speed: float) -> None:
    """Between its bounds of 1 and 60 the speed gives one arrival in three wall seconds."""
    assert suggest_speed(per_hour) == speed


def test_allotment_keeps_shares_and_total() -> None:
    """Largest remainder gives every place away and stays within one of the exact share."""
    assert allot([549, 387, 129], 10) == [5, 4, 1]
    assert allot([1, 1, 1], 2) == [1, 1, 0]
    assert sum(allot([7, 5, 3, 11], 1000)) == 1000


def test_quantiles_are_read_linearly() -> None:
    """Ranks between stored quantiles are interpolated, ranks outside are clamped."""
    assert [at_rank([0, 10, 40], rank) for rank in (-1, 0, 0.25, 0.5, 0.75, 1, 2)] == [
        0, 0, 5, 10, 25, 40, 40,
    ]  # fmt: skip


def test_sweep_hits_each_weight_in_proportion() -> None:
    """An even sweep over as many places as weight gives every index exactly its weight."""
    picks = WeightedTable([3, 0, 2]).sweep(5, Random(1))
    assert picks == [0, 0, 0, 2, 2]
