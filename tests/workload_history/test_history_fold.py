"""Fourteen days of every workload as a fold: what is merged, what is forgotten, and what comes back after a restart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random

import numpy as np
import pytest

from features.live.followed_history import (
    FollowedHistory,
    after_block,
    after_filling,
    after_observation,
    after_usage,
)
from features.live.history_blocks import block_of, due_chunk
from features.live.packed_history import decode_followed, encode_followed
from features.workload_history.grid import (
    CHUNK_STEPS,
    KEPT_STEPS,
    MOST_SERIES,
    SOURCES,
    STEP_SECONDS,
    to_kept_precision,
)
from features.workload_history.history import WorkloadHistory, push_step
from schemas.history import FilledSeries, HistoryFilled
from schemas.snapshot import SnapshotUsage, UsageTable
from schemas.view import update_view
from schemas.work import ServiceCounters, WorkCounters
from tests.builders import GIB, make_observation, stamp_event

BEGIN_STEP = 5_900_000
BEGIN_SECONDS = float(BEGIN_STEP * STEP_SECONDS)
CYCLE_SECONDS = 15.0
WEB = "service/shop/web"


def filled(
    values: Mapping[str, list[float | None]], first_step: int, *, now: float = BEGIN_SECONDS
) -> HistoryFilled:
    """Return values that a Prometheus had of steps from `first_step` on."""
    return HistoryFilled(
        cycle=0,
        cluster_time_seconds=now,
        source="prometheus",
        part=0,
        start_time_seconds=float(first_step * STEP_SECONDS),
        step_seconds=float(STEP_SECONDS),
        series=tuple(FilledSeries(id=name, values=tuple(one)) for name, one in values.items()),
    )


def look(followed: FollowedHistory, seconds: float, **requests: float) -> FollowedHistory:
    """Return the history after an observation so many seconds after the beginning."""
    counters = tuple(
        ServiceCounters(service=f"shop/{name}", served=count, failed=0.0, lost=0.0)
        for name, count in requests.items()
    )
    observation = make_observation(
        {"node-0": {"cpu_allocatable_cores": 8.0, "memory_allocatable_bytes": 16 * GIB}},
        cluster_time_seconds=BEGIN_SECONDS + seconds,
        interval_seconds=CYCLE_SECONDS,
        work=WorkCounters(services=counters),
    )
    view = update_view(None, stamp_event(observation))
    assert view is not None
    return after_observation(followed, view)


def play(followed: FollowedHistory, first: int, last: int, rate: float) -> FollowedHistory:
    """Return the history after cycles `first` to `last` of a Service with a steady rate."""
    for cycle in range(first, last + 1):
        followed = look(followed, cycle * CYCLE_SECONDS, web=rate * cycle * CYCLE_SECONDS)
    return followed


def known(history: WorkloadHistory, series: str, steps: int) -> list[float | None]:
    """Return the newest values of a series, None where unknown."""
    return [None if math.isnan(one) else one for one in history.past(series, steps).values]


def same(one: WorkloadHistory, other: WorkloadHistory) -> bool:
    """Say whether two histories know the same, in whatever order their series came."""
    ids = sorted(one.ids)
    return ids == sorted(other.ids) and np.array_equal(
        one.pasts(ids).values, other.pasts(ids).values, equal_nan=True
    )


def test_offered_requests_are_counted_to_the_step_in_which_they_came() -> None:
    """Failed, lost and served requests were all wanted; a look across the end of a step counts for both."""
    followed = play(FollowedHistory(), 0, 61, 40.0)

    past = followed.history.past(WEB, 3)
    assert past.times.tolist() == [BEGIN_SECONDS + STEP_SECONDS * step for step in range(3)]
    assert known(followed.history, WEB, 3) == [40.0, 40.0, 40.0]

    one, counters = (
        FollowedHistory(),
        ServiceCounters(service="shop/web", served=0.0, failed=0.0, lost=0.0),
    )
    for seconds, wanted in ((0.0, 0.0), (60.0, 60.0), (130.0, 130.0), (310.0, 130.0)):
        bad = counters.model_copy(update={"failed": wanted, "lost": 2 * wanted})
        view = update_view(
            None,
            stamp_event(
                make_observation(
                    cluster_time_seconds=BEGIN_SECONDS + seconds,
                    interval_seconds=CYCLE_SECONDS * 10,
                    work=WorkCounters(services=(bad,)),
                )
            ),
        )
        assert view is not None
        one = after_observation(one, view)
    # 390 requests until second 130, none in the 180 seconds from there on.
    assert known(one.history, WEB, 1) == [pytest.approx(390.0 / 300.0, rel=3e-4)]


def test_a_gap_is_missing_and_not_zero() -> None:
    """Nobody knows what was asked while nobody looked, and a counter that begins anew says nothing."""
    followed = play(FollowedHistory(), 0, 21, 40.0)
    followed = look(followed, 900.0, web=90_000.0)
    followed = look(followed, 1_300.0, web=10.0)

    assert known(followed.history, WEB, 4) == [40.0, None, None, None]


def test_what_was_observed_replaces_what_was_filled_in_and_not_the_other_way_round() -> None:
    """A filling covers the past and marks it; of the steps since then the observation counts."""
    day = [float(step % 7) for step in range(288)]
    followed = after_filling(FollowedHistory(), filled({WEB: list(day)}, BEGIN_STEP - 288))
    assert known(followed.history, WEB, 288) == day

    followed = play(followed, 0, 20, 40.0)
    late = filled({WEB: [1.0, 2.0]}, BEGIN_STEP - 1, now=BEGIN_SECONDS + 600)
    followed = after_filling(followed, late)

    assert known(followed.history, WEB, 3) == [1.0, 40.0, None]
    chunk = followed.history.chunk(BEGIN_STEP // CHUNK_STEPS)
    assert chunk is not None
    row = followed.history.ids.index(WEB)
    marks = [SOURCES[mark] for mark in chunk.sources[row, BEGIN_STEP % CHUNK_STEPS - 1 :][:3]]
    assert marks == ["prometheus", "observed", ""]


def test_a_filling_says_nothing_of_the_future() -> None:
    """Steps that were not over when it was filled in are left out, whatever a table says of them."""
    followed = after_filling(FollowedHistory(), filled({WEB: [1.0, 2.0, 3.0]}, BEGIN_STEP - 1))

    assert followed.history.next_step == BEGIN_STEP
    assert known(followed.history, WEB, 2) == [None, 1.0]


def test_use_of_workloads_and_cores_by_machine_are_series_too() -> None:
    """CPU and memory of each workload, and the cores requested on machines of one size, are means of a step."""
    followed = play(FollowedHistory(), 0, 2, 1.0)
    for seconds, cores in ((60.0, 2.0), (120.0, 4.0)):
        table = UsageTable(
            ids=("shop/Deployment/web",),
            version=("1",),
            pods=(2,),
            cpu_used_cores=(cores,),
            memory_used_bytes=(GIB,),
            cpu_request_cores=(8.0,),
        )
        usage = SnapshotUsage(
            cycle=1,
            cluster_time_seconds=BEGIN_SECONDS + seconds,
            source="metrics_server",
            workloads=table,
        )
        followed = after_usage(followed, usage)
    followed = look(followed, 301.0)

    history = followed.history
    assert known(history, "cpu/shop/Deployment/web", 1) == [3.0]
    assert known(history, "memory/shop/Deployment/web", 1) == [float(GIB)]
    assert known(history, "nodes/8-cores-16-gib", 1) == known(history, "nodes/all", 1) == [4.0]


def test_fourteen_days_are_kept_and_no_more() -> None:
    """Older chunks go, and so do series of which nothing is left."""
    history = push_step(WorkloadHistory(), BEGIN_STEP, {"cpu/old": 1.0, WEB: 1.0})
    history = push_step(history, BEGIN_STEP + KEPT_STEPS - CHUNK_STEPS, {WEB: 2.0})
    assert set(history.ids) == {"cpu/old", WEB}
    assert known(history, WEB, KEPT_STEPS)[-1] == 2.0

    history = push_step(history, BEGIN_STEP + KEPT_STEPS + CHUNK_STEPS, {WEB: 3.0})

    assert history.ids == (WEB,)
    assert len(history.chunks) == 2
    assert sum(value is not None for value in known(history, WEB, KEPT_STEPS)) == 2


def test_series_beyond_the_limit_are_left_out_and_counted() -> None:
    """The store is bounded: those that were there keep their place, others find none."""
    means = {f"cpu/{number}": 1.0 for number in range(MOST_SERIES)}
    history = push_step(WorkloadHistory(), BEGIN_STEP, means)
    history = push_step(history, BEGIN_STEP + 1, {WEB: 1.0, "cpu/0": 2.0})

    assert (len(history.ids), history.left_out) == (MOST_SERIES, 1)
    assert known(history, "cpu/0", 1) == [2.0]
    assert known(history, WEB, 1) == [None]


def test_values_are_kept_to_a_fortieth_of_a_percent() -> None:
    """From a thousandth of a core to a terabyte, and rounding twice is rounding once."""
    values = np.geomspace(1e-3, 1e12, 10_000)
    kept = to_kept_precision(values)

    assert np.abs(kept / values - 1.0).max() < 2.5e-4
    assert np.array_equal(to_kept_precision(kept), kept)
    assert np.isnan(to_kept_precision(np.array([-1.0, math.inf, math.nan]))).all()


def grown(random: Random, steps: int) -> tuple[FollowedHistory, list[object]]:
    """Return a history that was filled, observed and written to the log, and what the log holds of it."""
    log: list[object] = []
    names = [f"service/shop/{number}" for number in range(5)]
    past = {name: [random.choice([None, random.random()]) for _ in range(400)] for name in names}
    log.append(filled(past, BEGIN_STEP - 400))
    followed = after_filling(FollowedHistory(), log[0])  # type: ignore[arg-type]
    requests = dict.fromkeys(range(6), 0.0)
    for cycle in range(steps):
        for number in requests:
            requests[number] += random.random() * 1_000.0 * (cycle % 40 != number)
        counts = {str(number): count for number, count in requests.items()}
        followed = look(followed, cycle * 60.0, **counts)
        chunk = due_chunk(followed.history, followed.written, cycle)
        if chunk is not None:
            block = block_of(followed.history, chunk, cycle, BEGIN_SECONDS + cycle * 60.0)
            log.append(block)
            followed = after_block(followed, block)
    return followed, log


@pytest.mark.parametrize("steps", [50, 400, 1_300])
def test_a_restart_brings_back_every_value(steps: int) -> None:
    """Checkpoint and log together are the whole history, to the last bit, and the checkpoint alone is small."""
    followed, log = grown(Random(f"history/{steps}"), steps)

    text = encode_followed(followed)
    assert text is not None
    restored = decode_followed(text)
    assert restored is not None
    for event in log:
        restored = (
            after_filling(restored, event)
            if isinstance(event, HistoryFilled)
            else after_block(restored, event)  # type: ignore[arg-type]
        )

    assert same(restored.history, followed.history)
    assert restored.steps == followed.steps
    assert restored.written == followed.written
    assert len(text) < 6_000
    after = [look(one, steps * 60.0 + 400.0) for one in (restored, followed)]
    assert same(after[0].history, after[1].history)


def test_blocks_hold_the_past_without_the_events_that_filled_it_in() -> None:
    """The log may forget who had filled it in: the blocks carry it on, with its source."""
    followed, log = grown(Random("blocks"), 1_300)
    restored = decode_followed(encode_followed(followed))
    assert restored is not None
    for event in log[1:]:
        restored = after_block(restored, event)  # type: ignore[arg-type]

    assert same(restored.history, followed.history)


def test_a_block_is_written_again_before_the_log_forgets_it() -> None:
    """Each chunk is due when it has grown by an hour, and at the latest after some thousand cycles."""
    history = WorkloadHistory()
    for step in range(BEGIN_STEP, BEGIN_STEP + 12):
        history = push_step(history, step, {WEB: 1.0})
    chunk = due_chunk(history, {}, 100)
    assert chunk is not None
    followed = after_block(
        FollowedHistory(history), block_of(history, chunk, 100, BEGIN_SECONDS + 3_600)
    )
    assert due_chunk(followed.history, followed.written, 102) is None
    assert due_chunk(followed.history, followed.written, 2_499) is None
    assert due_chunk(followed.history, followed.written, 2_500) is not None


@pytest.mark.parametrize("text", ["", "nonsense", "eJyrVkrOzytJzSsBABFrA/0="])
def test_a_text_that_is_no_history_is_refused(text: str) -> None:
    """A checkpoint of another version, or none at all, is refused with a ValueError."""
    with pytest.raises(ValueError, match=r"unpacked|cut off|history|Expecting|padding"):
        decode_followed(text)
