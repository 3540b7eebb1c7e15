"""Usage windows: one form in files, cells and annotations, merged without changing the work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from twin.arrivals import build_deployment, build_job
from twin.behaviour.pod_work import USAGE_WINDOWS
from twin.workloads import WorkloadArrival
from twin.workloads.arrival import (
    LONGEST_WINDOWS,
    UsageWindow,
    windows_from_text,
    windows_text,
)
from twin.workloads.trace_file import read_trace_file, write_trace_file

ARRIVAL = WorkloadArrival(1.0, "a", "task", 500, 2**30, 0, 0.4, 0.8, 60.0, "succeed")
WINDOWS = (UsageWindow(120.0, 0.25, 0.5), UsageWindow(0.5, 1.5, 0.5))


def test_text_reads_back_equal() -> None:
    """What an annotation or a CSV cell holds gives the same windows again."""
    assert windows_text(WINDOWS) == "120:0.25:0.5;0.5:1.5:0.5"
    assert windows_from_text(windows_text(WINDOWS)) == WINDOWS
    assert windows_from_text("") == ()


@pytest.mark.parametrize(
    "text",
    ["1:2", "a:b:c", "-1:0.5:0.5", "0:0.5:0.5", "1:nan:0.5", "1:0.5:-1", "1:1:1;" * 70 + "1:1:1"],
)
def test_other_forms_are_refused(text: str) -> None:
    """Missing numbers, negative ones and endless lists are errors, not guesses."""
    with pytest.raises(ValueError, match=r"window|float|number|ratio"):
        windows_from_text(text)


def test_windows_survive_a_file(tmp_path: Path) -> None:
    """Windows and start nodes read back from JSON Lines; files without them do not mention them."""
    arrival = replace(ARRIVAL, usage_windows=WINDOWS)
    path = tmp_path / "w.jsonl"
    write_trace_file(path, [], [arrival, replace(ARRIVAL, name="b")])

    assert read_trace_file(path)[1] == [arrival, replace(ARRIVAL, name="b")]
    assert path.read_text(encoding="utf-8").count("usage_windows") == 1


def test_windows_travel_on_the_pod() -> None:
    """The pods of an arrival carry its windows as one annotation, short enough to travel."""
    many = tuple(UsageWindow(123.456, 0.1234, 0.5678) for _ in range(LONGEST_WINDOWS))
    job = build_job(replace(ARRIVAL, usage_windows=many), 300)
    service = build_deployment(replace(ARRIVAL, kind="service", usage_windows=WINDOWS))

    text = job["spec"]["template"]["metadata"]["annotations"][USAGE_WINDOWS]
    assert windows_from_text(text) == many
    assert len(text) < 2_000
    note = service["spec"]["template"]["metadata"]["annotations"][USAGE_WINDOWS]
    assert windows_from_text(note) == WINDOWS
    assert (
        USAGE_WINDOWS not in build_job(ARRIVAL, 300)["spec"]["template"]["metadata"]["annotations"]
    )
