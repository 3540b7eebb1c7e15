"""Whatever is wrong with what `foresail twin` is given: one clear line, exit code 2, nothing started."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from foresail.__main__ import main

NODE = "node,n1,8000,34359738368,,,,,,,"
HEADER = (
    "record,name,cpu_millicores,memory_bytes,gpus,time_seconds,kind,cpu_request_millicores,"
    "memory_request_bytes,duration_seconds,outcome"
)
FAULT = "faults:\n  - fault: node_death\n    nodes: {names: [n1]}\n"


@pytest.fixture
def taken_port() -> Iterator[int]:
    """Give a loopback port that somebody else listens on."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def refusal_line(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run one command line; return its one line on stderr."""
    assert main(["twin", *arguments]) == 2
    output = capsys.readouterr()
    lines = output.err.strip().splitlines()
    assert len(lines) == 1, output.err
    assert "Traceback" not in output.out
    return lines[0]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("arrival,a,,,,5,task,lots,1073741824,60,succeed", "cpu_request_millicores = lots: give"),
        ("arrival,a,,,,5,task,1000", "row = 8 cells: give 11 cells"),
        (
            "arrival,a,,,,5,task,1000,1073741824,-60,succeed",
            "duration_seconds = -60: give a number",
        ),
        ("arrival,a,,,,-5,task,1000,1073741824,60,succeed", "time_seconds = -5: give a number"),
        ("arrival,a,,,,5,task,-1000,1073741824,60,succeed", "cpu_request_millicores = -1000"),
        ("arrival,a,,,,nan,task,1000,1073741824,60,succeed", "time_seconds = nan"),
        ("arrival,a,,,,5,task,9000,1073741824,60,succeed", "no node offers more than 8000"),
        ("arrival,a,,,1,5,task,1000,1073741824,60,succeed", "gpus = 1: no node offers more than 0"),
        ("arrival,a,,,,5,task,1000,1073741824,,succeed", "duration_seconds = (absent): say after"),
        ("arrival,a,,,,5,cron,1000,1073741824,60,succeed", "kind = cron: use service or task"),
        ("arrival,A_b,,,,5,task,1000,1073741824,60,succeed", "name = A_b: use a-z"),
        ("node,n1,8000,34359738368,,,,,,,", "name = n1: give every node"),
        ('arrival,"a,,,,5,task,1000,1073741824,60,succeed', "write valid CSV"),
        ('arrival,"a,,,,5,task,1000,1073741824,60,succeed\n"x","y"', "write valid CSV"),
        ('arrival,"a\nb,,,,5,task,1000,1073741824,60,succeed', "write valid CSV"),
        ("arrival,a,,,,5,task,1_000,1073741824,60,succeed", "cpu_request_millicores = 1_000: give"),
        (
            "arrival,a,,,,5,task,\uff11,1073741824,60,succeed",
            r"cpu_request_millicores = \uff11: give",
        ),
        ("arrival,a,,,, 5,task,1000,1073741824,60,succeed", "time_seconds =  5: give a number"),
        (
            "arrival,a,,,,1e400,task,1000,1073741824,60,succeed",
            "time_seconds = 1e400: give a number",
        ),
    ],
)
def test_a_bad_workload_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: str, words: str
) -> None:
    """`validate` and `up` name file, line, field, value and remedy."""
    path = tmp_path / "own.csv"
    path.write_text(f"# mine\n{HEADER}\n{NODE}\n{row}\n", encoding="utf-8")
    for arguments in (("validate", str(path)), _up(tmp_path, "--workload", str(path))):
        line = refusal_line(capsys, *arguments)
        assert "own.csv line 4" in line
        assert words in line


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (FAULT + "    unknown: 3\n", "unknown key"),
        ("faults: []\nspeed: 2\n", "faults"),
        (FAULT.replace("node_death", "node_birth"), "node_birth"),
        (FAULT + "    duration_seconds: -5\n", "-5"),
        (FAULT + "    at_seconds: soon\n", "soon"),
        ("faults: [", "line"),
        ("just words\n", "just words"),
    ],
)
def test_a_bad_scenario(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: str, words: str
) -> None:
    """Unknown keys, unknown faults and impossible values are refused by every verb that reads one."""
    path = tmp_path / "bad.yaml"
    path.write_text(document, encoding="utf-8")
    for arguments in (
        ("validate", str(path)),
        ("scenario", str(path), "--check"),
        _up(tmp_path, "--scenario", str(path)),
    ):
        line = refusal_line(capsys, *arguments)
        assert "bad.yaml" in line
        assert words in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--nodes", "0"), "run.nodes = 0"),
        (("--nodes", "many"), "run.nodes = many"),
        (("--speed", "-1"), "run.speed = -1"),
        (("--workload", "nowhere"), "use openb"),
        (("--data", "nowhere"), "run.data = nowhere"),
        (("--scenario", "nowhere.yaml"), "--scenario = nowhere.yaml: give a file that exists"),
        (("--port", "99999"), "--port = 99999"),
        (("--kueue", "nowhere.yaml"), "--kueue = nowhere.yaml: give on, off, or a file"),
        (("--kubeconfig-out", "no/folder/kubeconfig"), "folder that can be written"),
        (
            ("--audit-log", "no/folder/log"),
            "--audit-log = no/folder/log: choose a file in a folder",
        ),
    ],
)
def test_a_wrong_flag_of_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    """Flags are checked before anything starts."""
    assert words in refusal_line(capsys, *_up(tmp_path, *arguments))


def test_a_taken_port(tmp_path: Path, capsys: pytest.CaptureFixture[str], taken_port: int) -> None:
    """A port in use is named."""
    line = refusal_line(capsys, *_up(tmp_path, "--port", str(taken_port)))
    assert f"--port = {taken_port}: choose another port" in line


def test_a_kubeconfig_of_somebody_else_is_never_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither an existing file of other content nor the user's own place is taken."""
    other = tmp_path / "config"
    other.write_text("current-context: production\n", encoding="utf-8")
    assert "never changed" in refusal_line(capsys, *_up(tmp_path, "--kubeconfig-out", str(other)))
    assert other.read_text(encoding="utf-8") == "current-context: production\n"
    monkeypatch.setenv("HOME", str(tmp_path))
    own = tmp_path / ".kube" / "config"
    assert "never changed" in refusal_line(capsys, *_up(tmp_path, "--kubeconfig-out", str(own)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("export", "--output", "start.csv"), "ends in .jsonl"),
        (("export", "--from", "nowhere.fslog", "--output", "new.jsonl"), "nowhere.fslog"),
        (("export", "--output", "new.jsonl", "--state", "empty"), "no twin runs here"),
        (("export", "--kubeconfig", "nowhere", "--output", "new.jsonl"), "kubeconfig = nowhere"),
        (("scenario", "nowhere.yaml"), "FILE = nowhere.yaml"),
        (("validate", "workload.txt"), "FILE = workload.txt: give a file that ends in one of"),
        (("validate", "nowhere.csv"), "nowhere.csv"),
        (("validate", "--nodes", "0", "x.csv"), "--nodes = 0"),
    ],
)
def test_other_actions(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    """Missing files and places where nothing runs are one line, too."""
    monkeypatch.chdir(tmp_path)
    assert words in refusal_line(capsys, *arguments)


def _up(folder: Path, *arguments: str) -> tuple[str, ...]:
    return ("up", "--state", str(folder / "state"), "--for", "1s", *arguments)
