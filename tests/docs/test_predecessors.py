"""docs/predecessors.md: each feature of the predecessor has a command here, and each command runs."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from foresail.__main__ import main
from tests.lab.sessions.clusters import serving_twin
from tests.served_prometheus import AT, ServedPrometheus, served_prometheus

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "predecessors.md"
_CODE = re.compile(r"`([^`]+)`")
NO_COMMAND = "left out"
"""How a row begins that says why there is none."""
CLUSTERS = ("a.yaml", "b.yaml")
STARTED = {"nats": "--state ", "twin": "--kubeconfig "}
"""Marks of commands that start a log server or simulated clusters, by a word of theirs."""
PROMETHEUS = "http://127.0.0.1:19090"


def _rows() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows if set(row[0].strip()) - {"-"}]


def _commands() -> list[str]:
    """Return every command of the last column, once."""
    cells = [row[-1] for row in _rows() if not row[-1].startswith(NO_COMMAND)]
    found = [code for cell in cells for code in _CODE.findall(cell)]
    return list(dict.fromkeys(command.replace("\\|", "|") for command in found))


def test_no_command_only_asks_for_help() -> None:
    """A command does what its row says."""
    assert [one for one in _commands() if one.endswith("--help")] == []


def test_every_row_has_a_verdict() -> None:
    """Three cells, and in the last one a command or the reason why there is none."""
    for row in _rows():
        assert len(row) == 3, row
        assert row[2] == "command" or _CODE.search(row[2]) or row[2].startswith(NO_COMMAND), row


def _marked(command: str) -> pytest.ParameterSet:
    """Return a command as a parameter, with what it needs beside this code."""
    needs = {
        "foresail learn ": (find_spec("sb3_contrib"), "needs the extra `learn`: make test-learn"),
        " --apply --yes": (shutil.which("kubectl"), "needs kubectl on PATH"),
    }
    marks = [
        pytest.mark.skipif(there is None, reason=reason)
        for words, (there, reason) in needs.items()
        if words in command
    ]
    marks += [getattr(pytest.mark, name) for name, words in STARTED.items() if words in command]
    return pytest.param(command, marks=marks, id=command.rsplit(" && ", 1)[-1])


@pytest.mark.parametrize("command", [_marked(command) for command in _commands()])
def test_its_command_runs(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In a folder with examples and experiments; 0 or 1 (a difference, no pass) is an answer, bad input is none."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path / "workspace"))
    with _outside(command, tmp_path) as served:
        for part in [*_before(command), *served.split(" && ")]:
            words = shlex.split(part)
            given = [word for word in words if re.fullmatch(r"[A-Z_]+=.*", word)]
            name, *arguments = words[len(given) :]
            assert name == "foresail", part
            with monkeypatch.context() as environment:
                for one in given:
                    environment.setenv(*one.split("=", 1))
                code = _ended(arguments)
            assert code in {0, 1}, f"{part}: {capsys.readouterr().err[-2000:]}"


@contextmanager
def _outside(command: str, folder: Path) -> Iterator[str]:
    """Serve the clusters and the Prometheus that a command names; yield it with their addresses."""
    with ExitStack() as stack:
        for name in CLUSTERS:
            if name in command:
                own = folder / f"cluster-{name}"
                own.mkdir()
                kubeconfig = stack.enter_context(serving_twin(own, "--kueue", "on"))
                shutil.copy(kubeconfig, folder / name)
        if PROMETHEUS in command:
            served = stack.enter_context(served_prometheus())
            _fill(served)
            command = command.replace(PROMETHEUS, served.url)
        yield command


def _fill(served: ServedPrometheus) -> None:
    """Let every query be answered for one node."""
    served.series[""] = [
        {
            "metric": {"node": "n1", "nodename": "n1", "namespace": "shop", "workload": "web"},
            "value": [AT, "0.5"],
            "values": [[AT, "0.5"], [AT + 60.0, "0.75"]],
        }
    ]


def _before(command: str) -> list[str]:
    """Return the page's commands that make the dataset and the model which this one names."""
    made = {
        flag: next(one for one in _commands() if one.startswith(f"foresail forecast {verb} "))
        for flag, verb in (("--dataset lab", "dataset"), ("--model lab", "train"))
    }
    return [one for flag, one in made.items() if flag in command and one != command]


def _ended(arguments: list[str]) -> int:
    """Run a verb in this process, which is much faster than one of its own, and return its exit code."""
    try:
        return int(main(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)
