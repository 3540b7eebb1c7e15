"""`foresail twin rates`: what Prometheus or a CSV says becomes a rate file that the twin reads."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from foresail.__main__ import main
from foresail.twin.validate import check
from twin.port.files import read_rate_file

BEGIN = 1_767_225_600
VALUES = [
    [BEGIN, "40"],
    [BEGIN + 60, "NaN"],
    [BEGIN + 120, "80.5"],
    [BEGIN + 180, "80.5"],
    [BEGIN + 240, "0"],
]
MATRIX = {"resultType": "matrix", "result": [{"metric": {"service": "shop"}, "values": VALUES}]}


class _Prometheus(BaseHTTPRequestHandler):
    """Answers one range query, and keeps what it was asked."""

    asked: list[tuple[str, dict[str, list[str]], str | None]] = []
    answer: Any = {"status": "success", "data": MATRIX}

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.asked.append((self.path, parse_qs(body), self.headers["Authorization"]))
        text = json.dumps(self.answer).encode()
        self.send_response(200 if self.answer["status"] == "success" else 400)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *arguments: object) -> None:
        return


@pytest.fixture
def prometheus(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the address of a server that answers as Prometheus does."""
    monkeypatch.setattr(_Prometheus, "asked", [])
    with HTTPServer(("127.0.0.1", 0), _Prometheus) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_range_of_prometheus_becomes_a_rate_file(prometheus: str, tmp_path: Path) -> None:
    """Times count from 0, an unmeasured sample keeps the rate before it, and equal rates stand once."""
    token, out = tmp_path / "token", tmp_path / "day.csv"
    token.write_text("secret\n", encoding="utf-8")
    arguments = [
        "twin", "rates", "--prometheus", prometheus, "--query", "sum(rate(x[5m]))", "--last", "4m", "--step", "1m",
        "--end", "2026-01-01T00:04:00Z", "--token-file", str(token), "--output", str(out),
    ]  # fmt: skip
    assert main(arguments) == 0
    rates = read_rate_file(out)
    assert (rates.times, rates.rates) == ((0.0, 120.0, 240.0), (40.0, 80.5, 0.0))
    assert "1 of 5 samples were missing" in out.read_text(encoding="utf-8")
    ((path, fields, authorization),) = _Prometheus.asked
    assert (path, authorization) == ("/api/v1/query_range", "Bearer secret")
    asked = {name: float(fields[name][0]) for name in ("start", "end", "step")}
    assert asked == {"start": BEGIN, "end": BEGIN + 240, "step": 60}


def test_what_prometheus_refuses_is_said_in_its_words(
    prometheus: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A parse error is one line, and no file is left."""
    monkeypatch.setattr(_Prometheus, "answer", {"status": "error", "error": "1:5: parse error"})
    out = tmp_path / "day.csv"
    assert (
        main(["twin", "rates", "--prometheus", prometheus, "--query", "sum(", "--output", str(out)])
        == 2
    )
    assert "1:5: parse error" in capsys.readouterr().err
    assert not out.exists()


def test_an_exported_csv_becomes_a_rate_file(tmp_path: Path) -> None:
    """Milliseconds or ISO times, one series of several, empty cells."""
    export, out = tmp_path / "export.csv", tmp_path / "day.csv"
    lines = [
        "Time,shop,search",
        f"{BEGIN}000,1,10",
        f"{BEGIN + 60}000,,20",
        "2026-01-01T00:02:00Z,3,30",
    ]
    export.write_text("\n".join(lines), encoding="utf-8")
    assert (
        main(["twin", "rates", "--from", str(export), "--series", "shop", "--output", str(out)])
        == 0
    )
    assert read_rate_file(out).rates == (1.0, 3.0)
    assert read_rate_file(out).times == (0.0, 120.0)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("Time,a,b\n0,1,2", "name one of: a, b"),
        ("Time,a\nyesterday,1", "row 2: time"),
        ("Time,a\n0,many", "row 2: rate"),
        ("Time,a\n0,1,2", "give 2 cells"),
        ("Time,a\n0,-1", "a counter needs rate()"),
        ("Time,a\n0,", "nothing was measured"),
        ("Time,a\n0,1\n0,2", "give one rate for each time"),
        ("Time,a", "give a header and lines"),
    ],
)
def test_what_are_no_rates_is_one_line(
    lines: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each mistake names its place and a remedy, and nothing is written."""
    export, out = tmp_path / "export.csv", tmp_path / "day.csv"
    export.write_text(lines, encoding="utf-8")
    assert main(["twin", "rates", "--from", str(export), "--output", str(out)]) == 2
    error = capsys.readouterr().err.strip()
    assert words in error
    assert len(error.splitlines()) == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--prometheus", "http://127.0.0.1:9"], "--query"),
        (["--prometheus", "ftp://x", "--query", "x"], "give an address"),
        (["--prometheus", "http://me:word@host", "--query", "x"], "without a password"),
        (["--prometheus", "http://127.0.0.1:9", "--query", "x"], "it does not answer"),
        (["--from", "none.csv"], "give a readable UTF-8 file"),
    ],
)
def test_a_source_that_is_none_is_one_line(
    flags: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An address that cannot be asked is named with what to do, and no password is repeated."""
    assert main(["twin", "rates", *flags, "--output", str(tmp_path / "x.csv")]) == 2
    error = capsys.readouterr().err.strip()
    assert words in error
    assert len(error.splitlines()) == 1
    assert "me:word" not in error


def test_validate_knows_rate_files_and_finds_every_bad_line(tmp_path: Path) -> None:
    """`foresail twin validate` tells a rate file from a workload by its header, and names all bad lines."""
    bad = tmp_path / "rates.csv"
    bad.write_text("time_seconds,requests_per_second\n0,1\n10,x\n20,y\n", encoding="utf-8")
    result, errors = check(bad, 4)
    assert (result["file"], len(errors)) == ("rates.csv", 2)
    result, errors = check(Path(__file__).parents[3] / "examples" / "rates.csv", 4)
    assert (result["holds"], errors) == ("7 rates of requests", [])
