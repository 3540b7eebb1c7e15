"""Peaks of what pods will use, by the simple rule: the worst cases that make a percentile too small."""

from __future__ import annotations

import math

import numpy as np
import pytest

from features.live.pod_sizes import CORES_GROW, MEMORY_GROWS, grown, sizes_of
from features.live.size_rules import (
    SIGMAS,
    SIZE_RULES,
    Floats,
    SizeRule,
    Spread,
    cores_of,
    highest,
    past_use,
)
from features.workload_history.grid import DAY_STEPS, KEPT_STEPS, STEP_SECONDS
from features.workload_history.history import WorkloadHistory, push_step
from schemas.snapshot import SnapshotUsage, UsageTable

WEB = "shop/Deployment/web"
QUIET, BUSY = 0.2, 3.0


def _history(**changes: float) -> Floats:
    """Return fourteen quiet days of one series; steps before the end by name `before_<steps>` have other values."""
    values = np.full((1, KEPT_STEPS), QUIET)
    for name, value in changes.items():
        values[0, -int(name.removeprefix("before_"))] = value
    return values


def cpu_peak(values: Floats, rule: SizeRule = "percentile") -> Floats:
    """Return the cores of workloads of one pod that all lie on one machine."""
    return cores_of(rule, past_use(values), Spread(np.ones(len(values)), 1))


def test_a_machine_is_counted_with_what_its_pods_want_together() -> None:
    """Nine pods that swing by themselves get three deviations of their sum, each a third of its own; one alone all."""
    swings = np.random.default_rng(3).normal(1.0, 0.2, (9, DAY_STEPS))
    past = past_use(swings)
    together = float(np.sqrt((past.deviation**2).sum()))
    above = cores_of("pooled", past, Spread(np.ones(9), 1)) - past.level
    assert above.sum() == pytest.approx(SIGMAS * together)
    assert above.sum() == pytest.approx(SIGMAS * past.deviation.sum() / 3.0, rel=0.05)
    apart = cores_of("pooled", past, Spread(np.ones(9), 9)) - past.level
    assert apart.mean() == pytest.approx(SIGMAS * past.deviation.mean(), rel=0.05)


def test_pods_of_one_workload_peak_together() -> None:
    """Nine pods of one workload on a machine get what nine of one mind want: no less than three deviations each."""
    swings = np.random.default_rng(3).normal(9.0, 1.8, (1, DAY_STEPS))
    past = past_use(swings)
    above = cores_of("pooled", past, Spread(np.array([9.0]), 1)) - past.level
    assert above == pytest.approx(SIGMAS * past.deviation)


def test_a_busy_hour_of_last_week_and_a_rollout_raise_the_level() -> None:
    """The level is not below the same hour a week ago, nor, but for a deviation, below the newest half hour."""
    weekly = _history(**{f"before_{7 * DAY_STEPS - step}": BUSY for step in range(12)})
    assert past_use(weekly).level == pytest.approx([BUSY])
    rollout = _history(**{f"before_{step}": 2 * QUIET for step in range(1, 7)})
    assert past_use(rollout).level.item() > 1.85 * QUIET


def test_every_rule_has_an_answer_for_what_is_hardly_known() -> None:
    """One step, or none: nothing divides by zero, and what was seen is counted."""
    values = np.full((2, DAY_STEPS), np.nan)
    values[0, -1] = QUIET
    for rule in SIZE_RULES:
        assert cpu_peak(values, rule).tolist() == [QUIET, 0.0]


def test_a_peak_that_comes_once_a_week_is_expected_again() -> None:
    """Half an hour after the same time of last week is within the hour ahead; two hours after is not."""
    weekly = _history(**{f"before_{7 * DAY_STEPS - 6}": BUSY})
    gone = _history(**{f"before_{7 * DAY_STEPS - 24}": BUSY})
    assert cpu_peak(weekly).tolist() == [BUSY]
    assert cpu_peak(gone).tolist() == [QUIET]


def test_short_bursts_are_cut_off_and_long_ones_are_not() -> None:
    """A tenth of the day that is busy counts, an hour a week is for its own time."""
    values = np.full((2, KEPT_STEPS), QUIET)
    values[0, ::10] = BUSY
    values[1, -6 * DAY_STEPS : -6 * DAY_STEPS + 12] = BUSY
    assert cpu_peak(values).tolist() == [BUSY, QUIET]


def test_of_less_than_a_day_the_most_counts() -> None:
    """An hour is too short to call what was seen once rare."""
    values = np.full((1, KEPT_STEPS), np.nan)
    values[0, -12:] = QUIET
    values[0, -9] = BUSY
    assert cpu_peak(values).tolist() == [BUSY]


def test_a_rollout_that_doubles_use_counts_at_once() -> None:
    """The newest two steps are never below the peak, whatever a fortnight says."""
    assert cpu_peak(_history(before_1=2 * QUIET)).tolist() == [2 * QUIET]


def test_memory_is_never_below_what_was_once_used() -> None:
    """A leak that ended with a restart ten days ago may come again."""
    assert highest(_history(**{f"before_{10 * DAY_STEPS}": BUSY})).tolist() == [BUSY]


def test_of_unequal_pods_the_largest_counts() -> None:
    """Four pods use 1 core together, one of them 0.7: each is expected to need 0.7, not 0.25."""
    history = WorkloadHistory()
    for step in range(12):
        history = push_step(history, step, {f"cpu/{WEB}": 1.0, f"memory/{WEB}": 4e9})
    usage = SnapshotUsage(
        cycle=1,
        cluster_time_seconds=12.0 * STEP_SECONDS,
        source="metrics_server",
        workloads=UsageTable(
            ids=(WEB,), version=("1",), pods=(4,), cpu_used_cores=(1.0,), memory_used_bytes=(4_000_000_000,),
            cpu_request_cores=(8.0,), memory_request_bytes=(16_000_000_000,), cpu_most_cores=(0.7,),
            memory_most_bytes=(1_000_000_000,),
        ),
    )  # fmt: skip
    (row,) = [sizes_of(history, usage, "percentile", 1).row(0)]
    assert row["cpu_peak_cores"] == pytest.approx(0.7, rel=1e-3)
    assert row["memory_peak_bytes"] == pytest.approx(1.09e9, rel=1e-3)
    assert row["cpu_request_cores"] == 2.0
    assert row["known_seconds"] == 3_600


def test_what_is_known_for_a_short_time_is_still_to_grow() -> None:
    """Memory by more and for longer than cores."""
    cores = [grown(1.0, known, CORES_GROW) for known in (300, 1_200, 3_600)]
    memory = [grown(1.0, known, MEMORY_GROWS) for known in (300, 3_600, 36_000)]
    assert cores == [1.09, 1.045, 1.0]
    assert memory == [1.18, 1.09, 1.0]


def test_what_was_never_measured_has_no_size() -> None:
    """Neither a workload without a history, nor a recording from before requests of memory were told."""
    table = UsageTable(
        ids=(WEB,), version=("1",), pods=(1,), cpu_used_cores=(1.0,), memory_used_bytes=(1,),
        cpu_request_cores=(2.0,), memory_request_bytes=(2,), cpu_most_cores=(None,), memory_most_bytes=(None,),
    )  # fmt: skip
    usage = SnapshotUsage(cycle=1, cluster_time_seconds=0.0, source="prometheus", workloads=table)
    assert len(sizes_of(WorkloadHistory(), usage, "pooled", 0)) == 0
    old = table.model_copy(update={"memory_request_bytes": ()})
    known = push_step(WorkloadHistory(), 0, {f"cpu/{WEB}": 1.0, f"memory/{WEB}": math.pi})
    assert len(sizes_of(known, usage.model_copy(update={"workloads": old}), "pooled", 1)) == 0
    assert len(sizes_of(known, usage, "pooled", 1)) == 1
