"""Completion scripts: every verb and flag, and a shell that uses them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bus.exit_codes import ExitCode
from foresail.__main__ import main
from foresail.completion import SHELLS
from foresail.verbs import verbs


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_knows_every_verb(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And the flags of verbs that are not even imported otherwise."""
    pytest.importorskip("shtab")
    assert ExitCode.GOOD == main(["completion", shell])
    script = capsys.readouterr().out
    for word in (*verbs(), "virtual-time", "nats-creds", "to-parquet"):
        assert word in script


def complete(script: Path, *words: str) -> list[str]:
    """Return what bash offers for the last of these words."""
    quoted = " ".join(f"'{word}'" for word in words)
    lines = (
        f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
        "$(complete -p foresail | sed 's/.*-F //; s/ .*//') 2>/dev/null; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    bash = shutil.which("bash") or "bash"
    done = subprocess.run([bash, "-c", lines], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_verbs_flags_and_choices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By sourcing the script, as a login shell does."""
    pytest.importorskip("shtab")
    assert ExitCode.GOOD == main(["completion", "bash"])
    script = tmp_path / "foresail"
    script.write_text(capsys.readouterr().out)

    assert complete(script, "foresail", "ta") == ["tap"]
    assert complete(script, "foresail", "tap", "--nats-c") == ["--nats-creds"]
    assert complete(script, "foresail", "verify", "--from", "pro") == ["proposal"]


def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line and exit code 2."""

    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("foresail.completion.import_module", missing)
    assert ExitCode.BAD_INPUT == main(["completion", "bash"])
    assert "install the package shtab" in capsys.readouterr().err
