"""Inference follows workloads: fourteen days of each, and what one replica bears."""

from __future__ import annotations

from typing import Any

import numpy as np

from features.workload_history.history import WorkloadHistory
from schemas.capacity import PredictionCapacity
from schemas.history import FilledSeries, HistoryBlock, HistoryFilled
from schemas.model import EventData
from schemas.observation import Observation, ObservedServices
from schemas.snapshot import SnapshotUsage, UsageTable
from schemas.work import LATENCY_BOUNDS, ServiceCounters, WorkCounters
from services.inference.service import InferenceHandler, build
from services.inference.settings import InferenceSettings
from services.inference.state import InferenceState
from tests.builders import GIB, ORIGIN, make_observation, stamp_event

WEB, SERIES = "shop/Deployment/web", "service/shop/web"
BEGIN_SECONDS = 1_770_000_000.0
CYCLE_SECONDS = 15.0
BEARS = 50.0


def handler_of(**settings: Any) -> InferenceHandler:
    """Return inference with the formula and nothing beside it but workloads."""
    return build(InferenceSettings(shadow_models=(), **settings), ORIGIN)


def observed(cycle: int, served: float, late: float) -> Observation:
    """Return an observation of one Service with two replicas."""
    counters = ServiceCounters(
        service="shop/web",
        served=served,
        failed=0.0,
        lost=0.0,
        served_within=tuple(served - late if bound <= 0.5 else served for bound in LATENCY_BOUNDS),
        workload=WEB,
    )
    services = ObservedServices(
        ids=("shop/web",),
        workload=(WEB,),
        wanted=(2,),
        ready=(2,),
        autoscaled=(False,),
        least=(0,),
        most=(0,),
        replica_cpu_cores=(1.0,),
        replica_memory_bytes=(GIB,),
    )
    return make_observation(
        2,
        cycle=cycle,
        cluster_time_seconds=BEGIN_SECONDS + cycle * CYCLE_SECONDS,
        interval_seconds=CYCLE_SECONDS,
        work=WorkCounters(services=(counters,)),
        services=services,
    )


def used(cycle: int, cores: float, version: str = "1") -> SnapshotUsage:
    """Return what the two replicas use."""
    table = UsageTable(
        ids=(WEB,),
        version=(version,),
        pods=(2,),
        cpu_used_cores=(cores,),
        memory_used_bytes=(GIB,),
        cpu_request_cores=(2.0,),
    )
    at = BEGIN_SECONDS + cycle * CYCLE_SECONDS
    return SnapshotUsage(
        cycle=cycle, cluster_time_seconds=at, source="metrics_server", workloads=table
    )


def log_of(cycles: int) -> list[EventData]:
    """Return a log whose rate of one replica goes up and down through what it bears."""
    day: tuple[float | None, ...] = tuple(float(step) for step in range(288))
    log: list[EventData] = [
        HistoryFilled(
            cycle=0,
            cluster_time_seconds=BEGIN_SECONDS,
            source="table",
            part=0,
            start_time_seconds=BEGIN_SECONDS - 86_400,
            step_seconds=300.0,
            series=(FilledSeries(id=SERIES, values=day),),
        )
    ]
    served = late = 0.0
    for cycle in range(1, cycles + 1):
        rate = 20.0 + 10.0 * (cycle // 24 % 5)
        served += 2 * rate * CYCLE_SECONDS
        late += 2 * max(0.0, rate - BEARS) * CYCLE_SECONDS
        if cycle % 4 == 0:
            log.append(used(cycle, 2 * (0.1 + 0.01 * rate)))
        log.append(observed(cycle, served, late))
    return log


def play(handler: InferenceHandler, log: list[EventData]) -> tuple[InferenceState, list[Any]]:
    """Return the state after a log, and everything that inference said, which it reads again."""
    state, said = handler.initial(), []
    for data in log:
        state = handler.evolve(state, stamp_event(data))
        for new in handler.decide(state, overdue=False):
            said.append(new.data)
            state = handler.evolve(state, stamp_event(new.data, producer="inference"))
    return state, said


def history_of(state: InferenceState) -> WorkloadHistory:
    """Return the history in a state."""
    followed = state.workloads.followed
    assert followed is not None
    return followed.history


def test_what_replicas_bear_is_published_when_it_changes() -> None:
    """First by CPU, then as seen; a cycle whose statement is as before says nothing."""
    state, said = play(handler_of(), log_of(480))

    told = [one for one in said if isinstance(one, PredictionCapacity)]
    assert told[0].workloads.source == ("prior",)
    assert told[-1].workloads.source == ("seen",)
    assert told[-1].workloads.ids == (WEB,)
    # 50 requests/s held and 60 broke; nothing was seen between.
    assert BEARS <= told[-1].workloads.replica_rate[0] < 60.0
    assert 3 < len(told) < 120
    assert state.workloads.published == told[-1]


def test_history_is_kept_in_the_log_and_rebuilt_from_it() -> None:
    """A checkpoint has what no block holds; with the log's history events it is the whole again."""
    handler = handler_of()
    log = log_of(480)
    state, said = play(handler, log)
    blocks = [one for one in said if isinstance(one, HistoryBlock)]
    assert len(blocks) >= 6

    restored = InferenceState.model_validate(state.model_dump(mode="json"))
    for data in (log[0], *blocks):
        restored = handler.evolve(restored, stamp_event(data))

    before, after = history_of(state).past(SERIES), history_of(restored).past(SERIES)
    assert np.array_equal(before.values, after.values, equal_nan=True)
    assert np.count_nonzero(~np.isnan(after.values)) == 288 + 480 * CYCLE_SECONDS // 300
    follow_up = stamp_event(observed(481, 1e6, 0.0))
    decided = [
        handler.decide(handler.evolve(one, follow_up), overdue=False) for one in (state, restored)
    ]
    assert decided[0] == decided[1]


def test_use_counts_with_the_observation_that_follows_it() -> None:
    """How far the process had read beyond an observation changes nothing of what it says of it."""
    handler, log = handler_of(), log_of(39)
    state, _ = play(handler, log)
    last = stamp_event(observed(40, 20_000.0, 0.0))
    state = handler.evolve(state, last)
    ahead = handler.evolve(state, stamp_event(used(41, 1.9, version="2")))

    assert handler.decide(ahead, overdue=False) == handler.decide(state, overdue=False)
    after = handler.evolve(ahead, stamp_event(observed(41, 21_000.0, 0.0)))
    assert after.workloads.capacity.workloads[WEB].version == "2"


def test_nothing_is_followed_where_the_settings_say_so() -> None:
    """Both parts can be turned off; then nothing of them is read, kept or said."""
    handler = handler_of(workload_history=False, replica_capacity=False)
    state, said = play(handler, log_of(80))

    assert not [one for one in said if isinstance(one, PredictionCapacity | HistoryBlock)]
    assert not any(pattern[0] in ("history", "snapshot") for pattern in handler.reads)
    assert state.workloads.followed is None
    assert "workloads" not in state.model_dump(mode="json")
