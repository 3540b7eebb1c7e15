"""Bad input gives one line that names field, value and remedy, exit code 2, no trace and no process
left behind.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from foresail.__main__ import main

Run = Callable[..., CompletedProcess[str]]
pytestmark = pytest.mark.slow


@pytest.fixture
def taken_port() -> Iterator[int]:
    """Give a loopback port that somebody else listens on."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Give a function that runs one verb, in this process: starting one takes longer than refusing."""
    monkeypatch.chdir(tmp_path)

    def run_verb(*words: str) -> CompletedProcess[str]:
        code = main([*words, *([] if words[0] == "recording" else ["--state", "state"])])
        return CompletedProcess(words, code, *capsys.readouterr())

    return run_verb


def expect_one_line(done: Any, *words: str) -> None:
    """Check exit code and the one line on stderr."""
    assert 2 == done.returncode, done.stderr
    lines = done.stderr.strip().splitlines()
    assert 1 == len(lines), done.stderr
    for word in words:
        assert word in lines[0], lines[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--config", "nowhere.toml"), ("--config", "nowhere.toml", "give a file")),
        (("--nodes", "0"), ("run.nodes", "0", "greater than or equal to 1")),
        (("--workload", "nowhere"), ("workload", "nowhere", "use openb")),
        (("--nats-url", "nats://127.0.0.1:9"), ("nats.url", "127.0.0.1:9", "start one")),
        (("--nats-url", "somewhere"), ("nats.url", "somewhere", "nats://HOST:PORT")),
        (("--kubeconfig", "nowhere"), ("--kubeconfig", "nowhere", "give a file")),
        (("--record", "no/folder/run.fslog"), ("--record", "run.fslog", "folder that exists")),
        (("--virtual-time", "--kubeconfig", "x"), ("virtual_time", "leave out kubeconfig")),
        (("--data", "nowhere"), ("run.data", "nowhere", "folder of the trace files")),
    ],
)
def test_a_wrong_flag_is_one_line(
    run: Run, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """Nothing starts, and the line says what to do."""
    expect_one_line(run("up", "--for", "5s", "--dashboard-port", "0", *arguments), *words)


def test_an_unknown_key_is_one_line(run: Run, tmp_path: Path) -> None:
    """A misspelt key in the file is an error with the nearest names."""
    (tmp_path / "stack.toml").write_text("[collector]\nintervall_seconds = 3\n")

    done = run("up", "--config", "stack.toml")

    expect_one_line(done, "collector.intervall_seconds", "3", "interval_seconds")


def test_thresholds_out_of_order_are_one_line(run: Run, tmp_path: Path) -> None:
    """Thresholds that contradict each other are refused before anything starts."""
    (tmp_path / "stack.toml").write_text("[agents.safety]\nmigrate_risk_ratio = 0.9\n")

    expect_one_line(run("up", "--config", "stack.toml"), "migrate_risk_ratio", "0.9", "below")


def test_a_bad_workload_row_is_one_line(run: Run, tmp_path: Path) -> None:
    """The line names file, line, field and value."""
    (tmp_path / "own.csv").write_text(
        "record,time_seconds,name,kind,cpu_request_millicores\narrival,1,a,task,lots\n"
    )

    done = run("up", "--workload", "own.csv", "--for", "5s", "--dashboard-port", "0")

    expect_one_line(done, "own.csv", "2")


@pytest.mark.parametrize("flag", ["--dashboard-port", "--nats-port"])
def test_a_taken_port_is_one_line(
    cli: Any, taken_port: int, flag: str, children_of: Callable[[Path], list[str]]
) -> None:
    """A port in use is named, and no process is left behind."""
    done = cli.run("up", "--for", "5s", "--dashboard-port", "0", flag, str(taken_port))

    expect_one_line(done, flag, str(taken_port), "another port")
    assert [] == children_of(cli.folder)


@pytest.mark.parametrize("flag", ["--dashboard-port", "--nats-port"])
def test_a_wrong_workload_is_named_before_a_taken_port(
    run: Run, taken_port: int, flag: str
) -> None:
    """What is given is checked first: another port would not help."""
    done = run("up", "--workload", "nowhere", flag, str(taken_port))

    expect_one_line(done, "workload", "nowhere", "use openb")


def test_a_verb_without_a_stack_is_one_line(run: Run) -> None:
    """status, tap, explain and kill say that there is nothing to look at."""
    for verb in (("status",), ("tap",), ("explain", "last"), ("kill",), ("undo", "--all")):
        expect_one_line(run(*verb), "--state", "no stack has run here")


def test_a_file_that_is_no_recording_is_one_line(run: Run, tmp_path: Path) -> None:
    """`recording info` on something else says what it wants."""
    (tmp_path / "a.fslog").write_text("hello")

    expect_one_line(run("recording", "info", "a.fslog"), "recording", "a.fslog")
