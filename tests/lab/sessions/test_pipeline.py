"""The pipeline does each of its steps, and nothing that it was not told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from foresail.__main__ import main
from lab.sessions.jobs_file import write_jobs_file
from tests.lab.sessions.harness import Harness, payload_of

pytestmark = [pytest.mark.slow, pytest.mark.nats]


def prepared(folder: Path, does: list[str]) -> list[str]:
    """Write a folder of jobs and return the command."""
    harness = Harness("local", folder, None)  # type: ignore[arg-type]
    (folder / "jobs").mkdir()
    jobs = harness.jobs({"do": do} for do in does)
    write_jobs_file(folder / "jobs" / "a.jsonl", payload_of("{python}"), jobs)
    return [
        *("session", "pipeline", "--json", "--jobs-dir", str(folder / "jobs")),
        *("--history-file", str(folder / "history.jsonl"), "--state", str(folder / "state")),
    ]


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Serve an address that keeps what it is sent."""
    received: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *values: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/alerts", received
    server.shutdown()
    thread.join()
    server.server_close()


def test_without_being_told_it_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dry run plans and validates, and leaves neither history nor state."""
    assert main(prepared(tmp_path, ["succeed", "fail"])) == 0

    result = json.loads(capsys.readouterr().out)
    assert (result["mode"], result["generated_jobs"], result["applied_jobs"]) == ("dry_run", 2, 0)
    assert not (tmp_path / "diary").exists()
    assert not (tmp_path / "history.jsonl").exists()


def test_it_runs_judges_keeps_and_tells(
    tmp_path: Path, webhook: tuple[str, list[dict[str, str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    """One of three fails: a warning, one alert at the webhook, a line of history; strict health is exit code 1."""
    url, received = webhook
    command = prepared(tmp_path, ["succeed", "fail", "succeed"])
    alerts = ["--enable-alerts", "--channel-type", "webhook", "--webhook-url", url]

    assert main([*command, "--enable-apply", *alerts]) == 0
    assert main([*command, "--enable-apply", "--strict-health"]) == 1

    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["mode"] for one in results] == ["full_alerts", "apply"]
    assert {one["health_status"] for one in results} == {"WARN"}
    assert [one["incidents_sent"] for one in results] == [1, 0]
    assert "job_0002: exit code 1: it went wrong" in received[0]["message"]
    history = (tmp_path / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["applied_jobs"] for line in history] == [3, 3]


def test_a_folder_without_jobs_is_an_input_error(tmp_path: Path) -> None:
    """So is a channel without its address."""
    command = prepared(tmp_path, ["succeed"])

    assert main(["session", "pipeline", "--jobs-dir", str(tmp_path / "none")]) == 2
    assert main([*command, "--enable-alerts", "--channel-type", "webhook"]) == 2


@pytest.mark.parametrize("selector", ["do", "do=nothing", "do=fail,score=3"])
def test_a_selector_that_takes_no_job_is_an_input_error(selector: str, tmp_path: Path) -> None:
    """A run of nothing is no success."""
    command = prepared(tmp_path, ["succeed", "fail"])

    assert main([*command, "--label-selector", selector]) == 2
    assert main([*command, "--label-selector", "do=fail"]) == 0
