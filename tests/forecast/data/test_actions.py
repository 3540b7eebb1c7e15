"""The frame of `foresail forecast`: actions are files."""

from __future__ import annotations

import ast

import pytest

from foresail.__main__ import main
from foresail.forecast import actions_by_file


def test_every_action_is_listed_with_its_first_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The help names each file of the folder and what it does."""
    with pytest.raises(SystemExit) as ended:
        main(["forecast", "--help"])

    shown = " ".join(capsys.readouterr().out.split())
    assert 0 == ended.value.code
    for action, path in actions_by_file().items():
        first = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n")[0]
        assert f"{action} {first[0].lower()}{first[1:].rstrip('.')}" in shown


def test_an_action_explains_its_own_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` of an action shows the arguments of that file, and --json for all."""
    with pytest.raises(SystemExit):
        main(["forecast", "dataset", "--help"])

    shown = capsys.readouterr().out
    for flag in ("--json", "--trace", "--input", "--anchor", "--failure", "--repair"):
        assert flag in shown


def test_a_missing_input_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A path that is not there is bad input, exit code 2."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", "nowhere")
    words = ["--trace", "google2011", "--input", "not-there", "--name", "x"]

    assert 2 == main(["forecast", "dataset", *words])
    assert "--input = not-there: no such file or folder" in capsys.readouterr().err
