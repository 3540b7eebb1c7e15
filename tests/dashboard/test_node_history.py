"""One node's history: the bands of machines of its size beside what is requested on them, and what runs on it."""

from __future__ import annotations

from projections.rail_state import RailLedger
from schemas.prediction import BandTable, DemandBands, nodes_series
from services.dashboard.cycle_json import Json
from services.dashboard.places import NodeHistory
from tests import builders
from tests.builder_rows import GIB, cycle_time, make_snapshot

NODES = {
    "big-0": {},
    "big-1": {"cpu_requested_ratio": 0.25},
    "small": {"cpu_allocatable_cores": 4.0},
}
PLACED = {
    "big-0|shop/Deployment/api": {"pods": 2, "cpu_request_cores": 1.0},
    "big-0|shop/Deployment/web": {"pods": 3, "cpu_request_cores": 6.0, "unhealthy": 1},
    "big-1|shop/Deployment/web": {"pods": 1, "cpu_request_cores": 2.0},
}


def bands(cycle: int) -> tuple[DemandBands, ...]:
    """Return bands of both sizes, five and ten minutes ahead."""
    table = BandTable(
        ids=(nodes_series(16.0, 64 * GIB), nodes_series(4.0, 64 * GIB)),
        newest=(12.0, 2.0),
        low=(9.0, 1.0),
        middle=(11.0, 2.0),
        high=(14.0, 3.0),
        rule=("trend", "trend"),
        basis=("own", "own"),
    )
    return tuple(
        DemandBands(horizon_seconds=ahead, end_time_seconds=cycle_time(cycle) + ahead, series=table)
        for ahead in (300.0, 600.0)
    )


def told_of(name: str, cycles: int = 3) -> Json:
    """Return the history of a node over some cycles."""
    history = NodeHistory(name)
    for cycle in range(1, cycles + 1):
        _, placements, _ = make_snapshot(cycle=cycle, placements=PLACED)
        seen = builders.make_observation(NODES, cycle=cycle)
        demand = builders.make_demand({name: 0.4}, cycle=cycle, bands=bands(cycle))
        for data in (placements, seen, demand):
            history.add(builders.stamp_event(data))
    return history.as_json([], RailLedger(), 99)


def test_bands_are_those_of_machines_of_its_size() -> None:
    """The shortest horizon of each prediction, where it is about, and the cores requested on these machines alone."""
    big, small = told_of("big-0"), told_of("small")

    assert (big["same_size"], small["same_size"]) == (2, 1)
    assert big["series"]["size_requested_cores"] == [12.0] * 3
    assert small["series"]["size_requested_cores"] == [2.0] * 3
    assert [one["at"] for one in big["bands"]] == [cycle_time(cycle) + 300.0 for cycle in (1, 2, 3)]
    assert [(one["low"], one["high"]) for one in (*big["bands"][-1:], *small["bands"][-1:])] == [
        (9.0, 14.0),
        (1.0, 3.0),
    ]


def test_what_runs_on_it_is_named_by_workload() -> None:
    """Only its own rows, those that request most first."""
    placed = told_of("big-0")["placed"]

    assert [(one["workload"], one["pods"], one["unhealthy"]) for one in placed] == [
        ("shop/Deployment/web", 3, 1),
        ("shop/Deployment/api", 2, 0),
    ]
    assert told_of("small")["placed"] == []
