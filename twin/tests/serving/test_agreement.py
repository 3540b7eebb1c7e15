"""The aggregate mode beside the exact one, over the range for which it is promised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from twin.serving.latency import quantile
from twin.tests.serving.queues import Account, Pod, aggregate_account, exact_account

_SHARES = (0.5, 0.95, 0.99)
_WARM_UP = (15.0, 0.5)
_REQUESTS = {0.3: 2e5, 0.6: 3e5, 0.9: 1.5e6}
"""How many requests quantiles need at a load."""
_LATIN_SQUARE = [
    (0.3, 1, 0.5), (0.3, 8, 1.0), (0.3, 64, 2.0),
    (0.6, 8, 0.5), (0.6, 64, 1.0), (0.6, 1, 2.0),
    (0.9, 64, 0.5), (0.9, 1, 1.0), (0.9, 8, 2.0),
]  # fmt: skip
"""Loads, workers and coefficients of variation: every two of them meet once."""


def _differences(exact: Account, aggregate: Account) -> list[float]:
    return [
        quantile(aggregate.latencies, share) / quantile(exact.latencies, share) - 1.0
        for share in _SHARES
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("load", "workers", "cv"), _LATIN_SQUARE)
def test_quantiles_agree_at_rest(load: float, workers: int, cv: float) -> None:
    """p50, p95 and p99 of both modes differ by less than 5 % and nobody fails."""
    requests = _REQUESTS[load]
    requests *= 2.0 if cv == 2.0 and workers < 16 else 1.0
    pod = Pod(workers, cv, timeout_seconds=60.0)
    seconds = requests / (load * workers / pod.cpu_seconds)
    exact = exact_account(pod, [(seconds, load)], [7])
    aggregate = aggregate_account(pod, [(60.0, load)])
    assert all(abs(found) < 0.05 for found in _differences(exact, aggregate)), _differences(
        exact, aggregate
    )
    assert exact.error_share == 0.0
    assert aggregate.error_share < 1e-6


@pytest.mark.parametrize("cv", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("workers", [1, 8, 64])
@pytest.mark.parametrize("timeout", [2.0])
def test_overload_agrees(workers: int, cv: float, timeout: float) -> None:
    """An overload of 1.5 for five minutes and what follows it give the same quantiles and share of
    errors, each within 5 %.
    """
    pod = Pod(workers, cv, timeout_seconds=timeout)
    phases = [(60.0, 0.5), (300.0, 1.5), (120.0, 0.5)]
    exact = exact_account(pod, phases, range(max(1, 8 // workers)))
    aggregate = aggregate_account(pod, phases)
    actual = [*_differences(exact, aggregate), aggregate.error_share / exact.error_share - 1.0]
    assert all(abs(difference) < 0.05 for difference in actual), actual


@pytest.mark.parametrize("workers", [1, 16])
@pytest.mark.parametrize("load", [0.8, 0.9])
def test_clients_that_give_up_early_agree(workers: int, load: float) -> None:
    """With a timeout of three services the share that fails agrees within 5 % as well."""
    pod = Pod(workers, 1.0, timeout_seconds=0.06)
    exact = exact_account(pod, [(1.5e6 * pod.cpu_seconds / (load * workers), load)], [3])
    aggregate = aggregate_account(pod, [(60.0, load)])
    assert aggregate.error_share == pytest.approx(exact.error_share, rel=0.05, abs=1e-4)
    assert all(abs(found) < 0.05 for found in _differences(exact, aggregate))


@pytest.mark.parametrize("cv", [0.5, 2.0])
@pytest.mark.parametrize("workers", [1, 8, 64])
@pytest.mark.parametrize("load", [0.3, 0.5])
def test_warm_up_agrees(workers: int, cv: float, load: float) -> None:
    """While a pod gets warm, half as much again being asked of it at first, the quantiles of both modes
    differ by less than 5 %, and those of warm pods by more.
    """
    pod = Pod(workers, cv, timeout_seconds=60.0, warm_up_seconds=150.0)
    phases = [(165.0, load)]
    exact = exact_account(pod, phases, range(max(4, 128 // workers)))
    aggregate = aggregate_account(pod, phases)
    warm = aggregate_account(replace(pod, warm_up_seconds=0.0), phases)
    assert all(abs(found) < 0.05 for found in _differences(exact, aggregate)), _differences(
        exact, aggregate
    )
    assert all(found < -0.15 for found in _differences(exact, warm))


def test_every_request_of_the_aggregate_ends_once() -> None:
    """What came is what was served, what failed, and what is present, also in overload."""
    actual = aggregate_account(
        Pod(3, 2.0, timeout_seconds=4.0), [_WARM_UP, (90.0, 1.7), (45.0, 0.2)]
    )
    assert actual.arrived == pytest.approx(actual.served + actual.failed + actual.present)
    assert actual.failed > 0.0
    assert actual.latencies.sum() == pytest.approx(actual.served)
