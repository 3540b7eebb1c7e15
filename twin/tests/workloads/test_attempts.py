"""Tasks that fail and are tried again, as a workload file tells them."""

from __future__ import annotations

from typing import Any

import pytest

from inputs.errors import InputError
from twin.config import TwinConfig
from twin.engine import Engine
from twin.workloads.arrival import NodeShape, WorkloadArrival
from twin.workloads.attempts import Attempt, attempts_text, read_attempts
from twin.workloads.row_place import RowPlace
from twin.workloads.rows import read_row

_TEXT = "20f,30f,60s;40x;r"


def _arrival(**fields: Any) -> WorkloadArrival:
    row = {
        "record": "arrival", "name": "job", "kind": "task", "time_seconds": 0, "replicas": 3, "attempts": _TEXT,
        "cpu_request_millicores": 1_000, "memory_request_bytes": 2**28, "cpu_usage_ratio": 1, **fields,
    }  # fmt: skip
    arrival = read_row(row, RowPlace("w.jsonl", 1))
    assert isinstance(arrival, WorkloadArrival)
    return arrival


def test_a_pod_that_fails_is_tried_again_after_the_back_off() -> None:
    """Each index has its own attempts, of which the failed ones worked for nothing, and waits by itself."""
    engine = Engine(TwinConfig(), seed=2)
    engine.add_nodes([NodeShape("n0", 8_000, 16 * 2**30, 0, {})])
    engine.load(iter([_arrival()]))
    engine.advance(engine.now + 35.0)
    failed = [pod for pod in engine.store.records("pods", "default") if pod.phase == "Failed"]
    assert len(failed) == 1, "the first index, after 20 s; the next attempt waits 10 s"
    engine.advance(engine.now + 400.0)
    job = engine.store.find("jobs", "default", "job")
    assert job is not None
    status = job.body["status"]
    assert (status["failed"], status["succeeded"], status["active"]) == (3, 1, 1)
    assert (status["completedIndexes"], status["failedIndexes"]) == ("0", "1")
    assert engine.job_work.containers == {"in time": 1, "late": 0, "lost": 3}
    assert 45.0 < engine.job_work.cpu_seconds["lost"] < 110.0


def test_attempts_are_written_as_they_are_read() -> None:
    """The text of attempts that were read is the same text."""
    indexes = read_attempts(_TEXT)
    assert indexes[0] == (Attempt(20.0, "f"), Attempt(30.0, "f"), Attempt(60.0, "s"))
    assert attempts_text(indexes) == _TEXT


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"attempts": "20f;40x;r"}, "all but the last attempt of a pod end in f"),
        ({"attempts": "20s,20f,20s;40x;r"}, "all but the last attempt of a pod end in f"),
        ({"attempts": "20q;40x;r"}, "'20q' is no attempt"),
        ({"replicas": 2}, "attempts = 3 pods: give those of 2 replicas"),
        ({"duration_seconds": 60}, "to tasks without duration_seconds"),
        ({"kind": "service"}, "to tasks without duration_seconds"),
    ],
)
def test_bad_attempts_of_a_row_are_named(fields: dict[str, Any], text: str) -> None:
    """What no Job could do is refused with file, line and remedy."""
    with pytest.raises(InputError, match=r"w\.jsonl line 1") as caught:
        _arrival(**fields)
    assert text in str(caught.value)
