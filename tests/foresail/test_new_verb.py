"""A stranger's task: a new verb is one file, and help, completion, errors and the page know it."""

from __future__ import annotations

import importlib
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import foresail
from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.__main__ import main
from foresail.exit_codes import codes_by_verb
from foresail.verbs import verbs
from tests.architecture.source_tree import ROOT

COUNT_LINES = '''"""`foresail count-lines FILE`: how long a file is."""

import argparse
from pathlib import Path

from bus.exit_codes import ExitCode
from foresail.verbs import Verb

VERB = Verb(
    25, "count the lines of a file, 100% of them (at last)"
)
EXIT_CODES = {ExitCode.NOTHING_COMPARED: "the file is empty"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--at-least", type=int, default=0)


def main(arguments: argparse.Namespace) -> ExitCode:
    lines = len(Path(arguments.file).read_text().splitlines())
    print(lines)
    return ExitCode.GOOD if lines >= arguments.at_least else ExitCode.DIFFERS
'''
DOCUMENTED = (
    "up", "tap", "recording", "replay", "dashboard", "run-trace", "explain", "timeline", "switchback", "effects",
    "report",
    "status", "trace", "kill", "pause", "resume", "undo", "rearm", "doctor", "architecture", "rbac", "reset", "twin",
    "forecast", "learn", "verify", "what-if", "sweep", "experiment", "session", "tune", "queue", "diff", "completion",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder whose files count as files of `foresail/`."""
    monkeypatch.setattr(foresail, "__path__", [*foresail.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    verbs.cache_clear()
    yield tmp_path
    verbs.cache_clear()
    for name in ("count_lines", "odd"):
        sys.modules.pop(f"foresail.{name}", None)


@pytest.fixture
def count_lines(folder: Path) -> Path:
    """Return the file of a new verb."""
    file = folder / "count_lines.py"
    file.write_text(COUNT_LINES, encoding="utf-8")
    return file


def test_the_verbs_stand_in_their_order() -> None:
    """The help lists what one does first at the top; shared files of the folder are no verbs."""
    assert tuple(verbs()) == DOCUMENTED


def test_a_new_file_is_a_verb(count_lines: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It runs with its own arguments and exit codes, and a slip in its name is corrected."""
    assert main(["count-lines", str(count_lines), "--at-least", "5"]) is ExitCode.GOOD
    assert main(["count-lines", str(count_lines), "--at-least", "500"]) is ExitCode.DIFFERS
    assert main(["count-line"]) is ExitCode.BAD_INPUT

    captured = capsys.readouterr()
    assert captured.out == f"{len(COUNT_LINES.splitlines())}\n" * 2
    assert "did you mean count-lines?" in captured.err


def test_a_new_verb_is_in_the_help(count_lines: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the list at the place that it declares, and with its flags when it is asked for itself."""
    for arguments in (["--help"], ["count-lines", "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0

    whole, own = capsys.readouterr().out.split("usage: foresail count-lines")
    assert (
        whole.index("\n    tap ")
        < whole.index("\n    count-lines")
        < whole.index("\n    recording")
    )
    assert "100% of them (at last)" in own
    assert "--at-least" in own


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_new_verb_is_completed(
    count_lines: Path, shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The completion scripts hold its name and its flags."""
    pytest.importorskip("shtab")

    assert main(["completion", shell]) is ExitCode.GOOD

    script = capsys.readouterr().out
    assert "count-lines" in script
    assert "at-least" in script


def test_a_new_verbs_exit_codes_are_in_the_page(count_lines: Path) -> None:
    """The generated page takes them from the verb's own file."""
    made = runpy.run_path(str(ROOT / "docs" / "make_exit_codes.py"), run_name="make_exit_codes")

    assert codes_by_verb()["count-lines"] == {ExitCode.NOTHING_COMPARED: "the file is empty"}
    assert "| `count-lines` | 4 | the file is empty |" in made["page"]()


def test_a_declaration_that_cannot_be_read_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A verb is never left out in silence: one line names the file, with exit code 2."""
    (folder / "odd.py").write_text("VERB = Verb(LATE, HELP)\n", encoding="utf-8")

    with pytest.raises(InputError, match=r"foresail/odd.py: VERB"):
        verbs()
    assert main(["status"]) is ExitCode.BAD_INPUT
    assert "both as literals" in capsys.readouterr().err


def test_what_is_declared_is_what_the_module_holds() -> None:
    """Reading a declaration from the text gives the same as importing the file."""
    assert verbs()["status"] == importlib.import_module("foresail.status").VERB
    assert verbs()["kill"] == importlib.import_module("foresail.kill").VERB
