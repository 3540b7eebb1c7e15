"""`rbac --apply`: the manifests are shown first, and kubectl gets exactly what was shown."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from bus.exit_codes import ExitCode
from foresail.__main__ import main


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kubectl that keeps its arguments and its input."""
    program = tmp_path / "kubectl"
    program.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/words\ncat > {tmp_path}/input\nexit ${{CODE:-0}}\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


@pytest.mark.parametrize(("code", "ended"), [("0", ExitCode.GOOD), ("1", ExitCode.FAILED)])
def test_what_is_shown_is_applied(
    kubectl: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    code: str,
    ended: ExitCode,
) -> None:
    """In the context that was named; kubectl's failure is ours."""
    monkeypatch.setenv("CODE", code)
    assert main(["rbac", "--apply", "--yes", "--context", "dev"]) == ended

    shown = capsys.readouterr().out
    assert shown.endswith((kubectl / "input").read_text())
    assert "ServiceAccount" in shown
    assert (kubectl / "words").read_text() == "--context dev apply -f -\n"


def test_without_a_word_nothing_is_applied(
    kubectl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No terminal and no --yes: one line, after the manifests."""
    assert main(["rbac", "--apply"]) == ExitCode.BAD_INPUT

    assert "add --yes" in capsys.readouterr().err
    assert not (kubectl / "words").exists()
