"""`forecast history`: what a Prometheus says of nodes and workloads, as a table that the other verbs read."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from bus.exit_codes import ExitCode
from foresail.__main__ import main
from foresail.run_status import read_run
from services.collector.history_table import read_history_file
from tests.served_prometheus import AT, ServedPrometheus, served_prometheus

CODES = ("200", "500")


@pytest.fixture
def server() -> ServedPrometheus:
    """A server that has requests of one Service by code, and the CPU of a node, at two steps."""
    times = [AT - 300.0, AT]
    with served_prometheus() as served:
        served.series["http_requests"] = [
            {
                "metric": {"namespace": "shop", "service": "web", "code": code},
                "values": [[at, "2.5"] for at in times],
            }
            for code in CODES
        ]
        served.series["node_cpu_seconds"] = [
            {"metric": {"node": "n1", "nodename": "n1"}, "values": [[AT, "3"]]}
        ]
        yield served


def test_it_is_written_sorted_and_read_by_others(server: ServedPrometheus, tmp_path: Path) -> None:
    """Codes of a Service are added up, a rate stands at its step's begin, nodes are beside; the run names the file."""
    out, run = tmp_path / "h.csv.gz", tmp_path / "run.fslog"
    words = [
        "forecast",
        "history",
        "--prometheus",
        server.url,
        "--start",
        str(AT - 600),
        "--end",
        str(AT),
    ]
    assert main([*words, "--out", str(out), "--run", str(run)]) == ExitCode.GOOD

    assert read_history_file(str(out)) == {
        "service/shop/web": [(AT - 600.0, 5.0), (AT - 300.0, 5.0)]
    }
    assert [one.file_name for one in read_run(run).artifacts] == [str(out)]
    plain = tmp_path / "h.csv"
    assert main([*words, "--out", str(plain)]) == ExitCode.GOOD
    rows = list(csv.reader(plain.read_text().splitlines()))
    assert rows[0] == ["series", "t_s", "value"]
    assert ["node_cpu/n1", f"{AT - 300:.0f}", "3"] in rows
    assert rows[1:] == sorted(rows[1:])
    assert {form["step"] for form in server.forms} == {"300"}


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--start", "yesterday"], "--start = yesterday: give 2026-01-01T00:00:00Z"),
        (["--start", "2026-01-02", "--end", "2026-01-01"], "give a time before --end"),
        (["--start", "1d", "--step", "0s"], "--step = 0.0: give 1s or more"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Field, value, remedy; nothing is asked and nothing written."""
    out = tmp_path / "h.csv"
    base = ["forecast", "history", "--prometheus", "http://127.0.0.1:1", "--out", str(out)]

    assert main([*base, *words]) == ExitCode.BAD_INPUT
    assert fault in capsys.readouterr().err
    assert not out.exists()
