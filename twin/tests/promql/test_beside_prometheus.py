"""The evaluator beside a real Prometheus."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from proofs.queries.beside import Query, difference, differences, read_queries


def test_the_table_is_large_enough() -> None:
    """Far more than sixty queries, of every function that is served, at instants and over ranges."""
    queries = list(read_queries())
    assert len({query.text for query in queries}) > 200
    assert len(queries) > 1_000
    assert sum(1 for query in queries if query.step) > 30


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs Prometheus")
async def test_every_query_is_answered_as_prometheus_does(tmp_path: Path) -> None:
    """Same series, same times, same numbers within 1e-9, and the same kind of refusal."""
    count, wrong = await differences(tmp_path)
    assert wrong == []
    assert count > 1_000


@pytest.mark.parametrize(
    ("ours", "why"),
    [
        ({"status": "error", "errorType": "execution", "error": "no"}, "Prometheus: vector of 1"),
        ({"resultType": "scalar", "result": [0, "1"]}, "vector there, scalar here"),
        ({"resultType": "vector", "result": []}, "1 series there, 0 here"),
        (
            {"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [9, "1.00001"]}]},
            "1 there, 1.00001 here",
        ),
        (
            {"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [8, "1"]}]},
            "at other times",
        ),
        (
            {"resultType": "vector", "result": [{"metric": {"a": "c"}, "value": [9, "1"]}]},
            "such as",
        ),
    ],
)
def test_a_difference_is_seen(ours: dict[str, object], why: str) -> None:
    """The comparison can fail: by kind, by labels, by time and by value."""
    theirs = {
        "status": "success",
        "data": {"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [9, "1"]}]},
    }
    answer = ours if "status" in ours else {"status": "success", "data": ours}
    assert why in difference(Query("x", 9, 9, 0), theirs, answer)
    assert difference(Query("x", 9, 9, 0), theirs, theirs) == ""
