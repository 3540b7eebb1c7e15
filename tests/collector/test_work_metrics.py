"""Counters of requests and CPU time, as the embedded cluster shows them."""

from __future__ import annotations

import pytest

from schemas.work import LATENCY_BOUNDS
from services.collector.work_metrics import MOST_BYTES, QUERY, read_work_metrics
from twin.exporters.registry import exposition
from twin.port.engine import Engine
from twin.port.latencies import PROMETHEUS_BUCKETS
from twin.port.workloads import open_workload


def test_requests_and_cpu_time_of_the_twin_are_read() -> None:
    """The served, failed and lost requests of a Service are those of the twin's own account."""
    engine = Engine(seed=3)
    played = open_workload("examples/shop.csv", nodes=4, seed=3)
    engine.add_nodes(played.nodes)
    engine.load(played.arrivals)
    engine.advance(engine.now + 600.0)
    metrics = read_work_metrics(b"".join(exposition(engine, QUERY["families"])))
    accounts = engine.serving.accounts()
    assert [row.service for row in metrics.services] == sorted(accounts)
    for row in metrics.services:
        account = accounts[row.service]
        assert row.served == pytest.approx(account.served, abs=1e-5)
        assert row.served > 0
        assert row.failed == pytest.approx(account.timed_out + account.refused, abs=1e-5)
        assert row.refused == pytest.approx(account.refused, abs=1e-5)
        assert row.lost == pytest.approx(account.lost, abs=1e-5)
        assert len(row.served_within) == len(LATENCY_BOUNDS)
        assert list(row.served_within) == sorted(row.served_within)
        assert row.served_within[-1] <= row.served + 1e-5
    assert any(
        row.refused for row in metrics.services
    )  # those of the seconds before the first pod was ready
    seconds = engine.job_work.cpu_seconds
    assert metrics.job_cpu_seconds_lost == seconds["lost"]


def test_an_endpoint_that_does_not_say_why_requests_failed_leaves_it_open() -> None:
    """None refused and nothing known of it are not the same."""
    text = b'foresail_service_requests_total{namespace="a",service="b",outcome="failed"} 2\n'
    (row,) = read_work_metrics(text).services
    assert (row.failed, row.refused) == (2.0, None)
    text += b'foresail_requests_unserved_total{namespace="a",service="b",reason="refused"} 0\n'
    (row,) = read_work_metrics(text).services
    assert row.refused == 0.0


def test_only_the_families_that_are_asked_for_are_written() -> None:
    """A short answer is what makes it cheap to ask in every cycle."""
    pieces = exposition(Engine(), "foresail_job_cpu_seconds_total")
    lines = b"".join(pieces).decode().splitlines()
    assert {line.split("{")[0].split(" ")[0] for line in lines} == {
        "#",
        "foresail_job_cpu_seconds_total",
    }


def test_bounds_are_those_of_the_twins_buckets() -> None:
    """Both sides count latencies within the same bounds."""
    assert LATENCY_BOUNDS == PROMETHEUS_BUCKETS


@pytest.mark.parametrize(
    "text",
    [
        b'foresail_service_requests_total{service="a",outcome="served"} -1',
        b'foresail_service_requests_total{service="a",outcome="served"} NaN',
        b'foresail_job_cpu_seconds_total{outcome="lost"} many',
        b" " * (MOST_BYTES + 1),
    ],
)
def test_an_answer_that_counts_nothing_is_refused(text: bytes) -> None:
    """A garbled endpoint makes a source that failed, not a plausible number."""
    with pytest.raises(ValueError, match=r"foresail_|bytes of metrics|could not convert"):
        read_work_metrics(text)
