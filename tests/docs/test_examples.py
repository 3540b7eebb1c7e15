"""The examples do what the pages say of them."""

from __future__ import annotations

import runpy

from nats.aio.msg import Msg

from tests.architecture.source_tree import ROOT
from twin.port.workloads import open_workload

EXAMPLES = ROOT / "examples"


def test_the_tap_example_reads_a_cloudevent_without_foresail() -> None:
    """Plain nats-py is enough: percent-encoded attributes and JSON data become one line."""
    tap = runpy.run_path(str(EXAMPLES / "tap_with_nats_py.py"), run_name="tap")
    headers = {
        "ce-time": "2026-01-01T00:00:05.000000Z",
        "ce-type": "foresail.decision.v1",
        "ce-correlationid": "my%20twin/i1/1",
    }
    subject = "live.foresail.my%20twin.decision"
    message = Msg(_client=None, subject=subject, data=b'{"cycle": 1}', headers=headers)

    expected = (
        '00:00:05  foresail.my%20twin.decision  foresail.decision.v1  my twin/i1/1  {"cycle": 1}'
    )
    assert expected == tap["line"](message)


def test_the_example_workload_opens() -> None:
    """The example file fits the schema: two nodes, then arrivals in order of time."""
    workload = open_workload(str(EXAMPLES / "workload.jsonl"), nodes=1, seed=7)
    times = [arrival.time_seconds for arrival in workload.arrivals]

    assert 2 == len(workload.nodes)
    assert [0, 20, 25, 40] == times
