"""The autoscaler's arithmetic, case by case as upstream's own table tests it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from twin.controllers.replica_calculator import (
    NoProposal,
    Rules,
    ScaledPod,
    by_average,
    by_utilization,
)

RULES = Rules(tolerance=0.1, cpu_initialization_seconds=300.0, initial_readiness_seconds=30.0)
NOW = 10_000.0
READY = ScaledPod(
    name="",
    phase="Running",
    deleting=False,
    ready=True,
    ready_since=NOW - 3_000,
    started_at=NOW - 3_600,
    request=1_000,
    usage=0,
    measured_at=NOW - 10,
    window_seconds=15,
)


def pods(usages: Sequence[int | None], **changes: object) -> list[ScaledPod]:
    """Return ready pods with these usages."""
    return [
        replace(READY, name=f"p{number}", usage=usage, **changes)
        for number, usage in enumerate(usages)
    ]


def replicas(found: list[ScaledPod], target: int, current: int | None = None) -> int:
    """Return the proposal for CPU utilization."""
    count = len(found) if current is None else current
    return by_utilization(found, count, target, NOW, cpu=True, rules=RULES).replicas


@pytest.mark.parametrize(
    ("usages", "target", "expected"),
    [
        ([300, 500, 700], 30, 5),  # 50 % of 30 %: five
        ([300, 500, 700], 50, 3),  # on target
        ([300, 500, 700], 46, 3),  # 8.7 % above: within the tolerance
        ([300, 500, 700], 45, 4),  # 11 % above: beyond it
        ([100, 100, 100], 50, 1),
        ([280, 280, 280], 50, 2),
        ([1000, 1000], 20, 10),
        ([500, 500, 500], 55, 3),  # 9.1 % below
    ],
)
def test_utilization(usages: list[int], target: int, expected: int) -> None:
    """Replicas follow the ratio of usage to target, rounded up, beyond a tolerance of 10 %."""
    assert replicas(pods(usages), target) == expected


@pytest.mark.parametrize("usage", [450, 550])
def test_a_ratio_at_the_tolerance_changes_nothing(usage: int) -> None:
    """Usage of exactly 10 % above or below the target is still within the tolerance."""
    assert replicas(pods([usage] * 5), 50) == 5
    assert by_average(pods([usage] * 5), 5, 500, NOW, cpu=True, rules=RULES).replicas == 5
    fresh = replace(READY, name="fresh", phase="Pending", usage=None)
    assert replicas([*pods([usage] * 5), fresh], 50, 6) == 6 if usage > 500 else True


def test_unready_pods_count_as_idle_on_the_way_up_only() -> None:
    """A starting pod dampens an increase and has no part in a decrease."""
    fresh = replace(READY, name="fresh", phase="Pending", usage=None)
    assert replicas([*pods([900, 900]), fresh], 50) == 4
    assert replicas([*pods([900]), fresh, replace(fresh, name="other")], 50) == 3
    assert replicas([*pods([100, 100]), fresh], 50) == 1


def test_missing_metrics_are_full_on_the_way_down_and_idle_on_the_way_up() -> None:
    """A pod without metric holds a decrease back and dampens an increase."""
    assert replicas(pods([100, 100, 100, None]), 50) == 3
    assert replicas(pods([900, 900, None]), 50) == 4
    assert replicas(pods([600, 600, None]), 50) == 3


def test_cpu_of_starting_pods_is_not_believed() -> None:
    """For five minutes a pod counts only when ready and measured after that for a whole window."""
    young = replace(READY, name="y", started_at=NOW - 60, usage=900)
    fresh = replace(young, ready_since=NOW - 20, measured_at=NOW - 10)
    settled = replace(young, ready_since=NOW - 50, measured_at=NOW - 10)
    assert replicas([*pods([450]), fresh], 45) == 2
    assert replicas([*pods([450]), settled], 45) == 3
    never = replace(READY, name="n", ready=False, ready_since=NOW - 3_590, usage=900)
    later = replace(never, ready_since=NOW - 100)
    assert replicas([*pods([450]), never], 45) == 2
    assert replicas([*pods([450]), later], 45) == 3


def test_memory_of_starting_pods_is_believed() -> None:
    """The start-up rules are for CPU alone."""
    young = replace(READY, name="y", started_at=NOW - 5, ready_since=NOW - 2, usage=900)
    actual = by_utilization([*pods([450]), young], 2, 45, NOW, cpu=False, rules=RULES)

    assert (actual.replicas, actual.utilization_percent, actual.average) == (3, 67, 675)


def test_average_values() -> None:
    """AverageValue divides the mean usage by the target; deleted and failed pods have no part."""
    gone = [replace(READY, name="d", deleting=True, usage=9_000),
            replace(READY, name="f", phase="Failed", usage=9_000)]  # fmt: skip
    actual = by_average([*pods([300, 500, 700]), *gone], 3, 250, NOW, cpu=True, rules=RULES)

    assert (actual.replicas, actual.utilization_percent, actual.average) == (6, None, 500)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ([], "no pods returned by selector"),
        (pods([None, None]), "no metrics returned from resource metrics API"),
        (pods([100], request=None), "missing request for cpu"),
        (pods([100], ready=False, started_at=NOW - 5), "pods might be unready"),
    ],
)
def test_when_there_is_nothing_to_say(found: list[ScaledPod], text: str) -> None:
    """Each way in which a metric says nothing has upstream's own sentence."""
    with pytest.raises(NoProposal, match=text):
        replicas(found, 50, 1)
