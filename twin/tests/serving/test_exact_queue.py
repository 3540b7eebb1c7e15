"""The exact queue beside closed forms, and what holds in every run of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twin.serving.exact import ExactQueue
from twin.tests.serving.queues import Pod, exact_intervals, mean_latency_mmc

_SHORT = 0.02


def _latencies(pod: Pod, load: float, requests: int, seed: int) -> np.ndarray:
    seconds = requests / (load * pod.workers / pod.cpu_seconds)
    latencies = [ended.latencies for ended, *_ in exact_intervals(pod, [(seconds, load)], seed)]
    return np.concatenate(latencies)


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 4, 16])
@pytest.mark.parametrize(("load", "requests"), [(0.5, 8e5), (0.8, 3e6)])
def test_mean_latency_is_that_of_the_closed_form(
    servers: int, load: float, requests: float
) -> None:
    """Up to load 0.8 the mean latency of M/M/c is within 1 % of Erlang's formula."""
    latencies = _latencies(Pod(servers, 1.0), load, int(requests), seed=servers)
    assert latencies.mean() / _SHORT == pytest.approx(mean_latency_mmc(servers, load), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 4, 16])
def test_closed_form_lies_in_the_interval_of_batch_means(servers: int) -> None:
    """At load 0.9 Erlang's mean lies in a 99 % interval of 20 batch means, half-width 3 % or less."""
    actual = _latencies(Pod(servers, 1.0), 0.9, 5_000_000, seed=20 + servers) / _SHORT
    batches = actual[: len(actual) // 20 * 20].reshape(20, -1).mean(axis=1)
    half = 2.861 * batches.std(ddof=1) / math.sqrt(20)  # Student's t, 19 degrees, 99 %
    expected = mean_latency_mmc(servers, 0.9)
    assert half <= 0.03 * expected
    assert abs(batches.mean() - expected) <= half


@settings(max_examples=25, deadline=None)
@given(
    servers=st.integers(1, 9),
    cv=st.sampled_from([0.5, 1.0, 2.0]),
    timeout=st.sampled_from([0.05, 1.0, math.inf]),
    seed=st.integers(0, 2**32),
    phases=st.lists(st.tuples(st.sampled_from([15.0, 45.0]), st.floats(0.0, 2.0)), min_size=1, max_size=5),
)  # fmt: skip
def test_requests_and_little(
    servers: int, cv: float, timeout: float, seed: int, phases: list[tuple[float, float]]
) -> None:
    """Each request is present or has ended once, and the number present integrates to the time that all of
    them spent (Little's law), whatever the load.
    """
    pod = Pod(servers, cv, cpu_seconds=0.2, timeout_seconds=timeout)
    arrived = ended_count = 0
    present, spent, queue = 0.0, 0.0, ExactQueue(0.0)
    for ended, count, queue in exact_intervals(pod, phases, seed):
        arrived += count
        ended_count += len(ended.latencies) + ended.failed
        present += ended.present_seconds
        spent += float(ended.latencies.sum()) + ended.failed_seconds
        assert len(queue.begun) <= servers
    assert arrived == ended_count + queue.present
    inside = sum(queue.now - arrival for arrival, _ in queue.begun + queue.waiting)
    assert present == pytest.approx(spent + inside, rel=1e-9, abs=1e-6)


def test_change_of_speed_is_exact() -> None:
    """A request that is half done when its pod slows to a tenth takes ten times as long for the rest."""
    queue, none = ExactQueue(0.0), np.zeros(0)
    queue.settle(5.0, np.array([0.0]), np.array([10.0]), workers=1, speed=1.0)
    assert queue.work_seconds == pytest.approx(5.0)
    ended = queue.settle(100.0, none, none, workers=1, speed=0.1)
    assert ended.latencies.tolist() == pytest.approx([55.0])


def test_order_of_arrival_holds_over_intervals() -> None:
    """What waits at the end of an interval is begun before what comes in the next."""
    queue = ExactQueue(0.0)
    queue.settle(2.0, np.array([0.0, 1.0]), np.array([3.0, 1.0]), workers=1, speed=1.0)
    ended = queue.settle(9.0, np.array([2.5]), np.array([1.0]), workers=1, speed=1.0)
    assert ended.latencies.tolist() == pytest.approx([3.0, 3.0, 2.5])


def test_client_gives_up_only_when_its_time_is_over() -> None:
    """A request fails at its timeout, not when the queue foresees it: a pod that speeds up still serves it."""
    queue, none = ExactQueue(0.0), np.zeros(0)
    first = queue.settle(2.0, np.array([0.0, 1.0]), np.array([50.0, 1.0]), workers=1, speed=1.0,
                         timeout_seconds=4.0)  # fmt: skip
    assert (first.failed, queue.present) == (0, 2)
    second = queue.settle(4.0, none, none, workers=1, speed=40.0, timeout_seconds=4.0)
    assert (second.failed, len(second.latencies)) == (0, 2)


def test_pod_that_stands_still_serves_nobody() -> None:
    """With no CPU nothing ends but by timeout."""
    queue = ExactQueue(0.0)
    ended = queue.settle(10.0, np.array([1.0, 8.0]), np.ones(2), workers=1, speed=0.0,
                         timeout_seconds=5.0)  # fmt: skip
    assert (len(ended.latencies), ended.failed, queue.present) == (0, 0, 2)
