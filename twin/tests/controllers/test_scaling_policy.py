"""Stabilisation windows and rate policies of autoscalers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twin.controllers.scaling_policy import Ask, with_behavior, without_behavior

UP: dict[str, Any] = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
DOWN: dict[str, Any] = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}


def ask(current: int, desired: int, least: int = 1, most: int = 100) -> Ask:
    """Return what is asked at time 1,000."""
    return Ask(1_000.0, current, desired, least, most)


@pytest.mark.parametrize(
    ("current", "desired", "least", "most", "expected", "reason"),
    [
        (1, 10, 1, 100, 4, "ScaleUpLimit"),
        (10, 50, 1, 100, 20, "ScaleUpLimit"),
        (10, 50, 1, 15, 15, "TooManyReplicas"),
        (10, 3, 1, 15, 3, "DesiredWithinRange"),
        (10, 1, 5, 15, 5, "TooFewReplicas"),
    ],
)
def test_without_behavior(
    current: int, desired: int, least: int, most: int, expected: int, reason: str
) -> None:
    """At most twice the replicas or four at once, within the bounds; down without limit."""
    answer = without_behavior(ask(current, desired, least, most), [], 300.0)

    assert (answer.replicas, answer.limited[1]) == (expected, reason)


def test_the_highest_of_five_minutes_holds() -> None:
    """A decrease waits until no recommendation of the last 300 s was higher."""
    past = [(699.0, 9), (701.0, 7), (990.0, 4)]
    answer = without_behavior(ask(7, 2), past, 300.0)

    assert (answer.replicas, answer.able[1]) == (7, "ScaleDownStabilized")
    assert without_behavior(ask(7, 2), [(690.0, 9)], 300.0).replicas == 2


@pytest.mark.parametrize(
    ("current", "desired", "up", "expected"),
    [
        (3, 50, {}, 7),  # four pods are more than 100 %
        (10, 50, {}, 20),  # 100 % is more than four pods
        (10, 50, {"selectPolicy": "Min"}, 14),
        (10, 50, {"selectPolicy": "Disabled"}, 10),
        (1, 9, {"policies": [{"type": "Percent", "value": 10, "periodSeconds": 60}]}, 2),
    ],
)
def test_policies_up(current: int, desired: int, up: dict[str, Any], expected: int) -> None:
    """Max, Min and Disabled choose among the policies; percentages round up."""
    behavior = {"scaleUp": {**UP, **up}, "scaleDown": DOWN}

    assert with_behavior(ask(current, desired), behavior, [], [], [], 300.0).replicas == expected


@pytest.mark.parametrize(
    ("down", "removed", "expected"),
    [
        ({}, [], 1),
        ({"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}, [], 8),
        ({"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}, [(950.0, 2)], 10),
        ({"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}, [(930.0, 2)], 8),
        ({"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}, [(940.0, 2)], 8),
        (
            {
                "policies": [
                    {"type": "Pods", "value": 2, "periodSeconds": 60},
                    {"type": "Pods", "value": 5, "periodSeconds": 60},
                ],
                "selectPolicy": "Min",
            },
            [],
            8,
        ),
        ({"policies": [{"type": "Percent", "value": 15, "periodSeconds": 60}]}, [], 8),
        ({"selectPolicy": "Disabled"}, [], 10),
    ],
)
def test_policies_down(
    down: dict[str, Any], removed: list[tuple[float, int]], expected: int
) -> None:
    """What was removed in the period counts; percentages of what is left round down."""
    behavior = {"scaleUp": UP, "scaleDown": {**DOWN, "stabilizationWindowSeconds": 0, **down}}
    answer = with_behavior(ask(10, 1), behavior, [], [], removed, 300.0)

    assert answer.replicas == expected


def test_windows_hold_both_ways() -> None:
    """The lowest recent recommendation holds an increase, the highest a decrease."""
    behavior = {"scaleUp": {**UP, "stabilizationWindowSeconds": 60}, "scaleDown": DOWN}
    up = with_behavior(ask(5, 9), behavior, [(950.0, 6), (930.0, 5)], [], [], 300.0)
    down = with_behavior(ask(5, 2), behavior, [(720.0, 4), (650.0, 5)], [], [], 300.0)

    assert (up.replicas, up.able[1]) == (6, "ScaleUpStabilized")
    assert (down.replicas, down.able[1]) == (4, "ScaleDownStabilized")


@given(
    st.integers(1, 60), st.integers(0, 200), st.integers(1, 20), st.integers(20, 60),
    st.lists(st.tuples(st.floats(0.0, 999.0), st.integers(0, 100)), max_size=6),
)  # fmt: skip
def test_bounds_are_kept(
    current: int, desired: int, least: int, most: int, past: list[tuple[float, int]]
) -> None:
    """Whatever was recommended, the answer is within the bounds when the target is."""
    current = min(max(current, least), most)
    question = ask(current, desired, least, most)
    behavior = {"scaleUp": UP, "scaleDown": DOWN}
    for answer in (
        without_behavior(question, past, 300.0),
        with_behavior(question, behavior, past, [], [], 300.0),
    ):
        assert least <= answer.replicas <= most
        assert answer.replicas <= max(2 * current, current + 4)
