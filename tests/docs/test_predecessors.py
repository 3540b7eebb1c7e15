"""docs/predecessors.md: each feature of the predecessor has a command here, and each command runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from foresail.__main__ import main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "predecessors.md"
_CODE = re.compile(r"`([^`]+)`")
NO_COMMAND = "left out"
"""How a row begins that says why there is none."""


def _rows() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows if set(row[0].strip()) - {"-"}]


def _commands() -> list[str]:
    """Return every command of the last column, once."""
    cells = [row[-1] for row in _rows() if not row[-1].startswith(NO_COMMAND)]
    found = [code for cell in cells for code in _CODE.findall(cell)]
    return list(dict.fromkeys(command.replace("\\|", "|") for command in found))


def test_every_row_has_a_verdict() -> None:
    """Three cells, and in the last one a command or the reason why there is none."""
    for row in _rows():
        assert len(row) == 3, row
        assert row[2] == "command" or _CODE.search(row[2]) or row[2].startswith(NO_COMMAND), row


@pytest.mark.parametrize("command", _commands())
def test_its_command_runs(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In an empty folder with examples and experiments beside it; 0 or 1 (a difference, no pass) is an answer."""
    for folder in ("examples", "experiments"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path / "workspace"))
    for part in [*_before(command), *command.split(" && ")]:
        words = shlex.split(part)
        given = [word for word in words if re.fullmatch(r"[A-Z_]+=.*", word)]
        name, *arguments = words[len(given) :]
        assert name == "foresail", part
        with monkeypatch.context() as environment:
            for one in given:
                environment.setenv(*one.split("=", 1))
            code = _ended(arguments)
        assert code in {0, 1}, f"{part}: {capsys.readouterr().err[-2000:]}"


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
