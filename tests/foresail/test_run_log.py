"""`--run FILE`: each verb's stages, files and trials as events of a run, which `status --run` reads."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.__main__ import main
from foresail.progress import bar, doing_shares, doing_stages
from foresail.run_log import manifest_of, note_artifact, note_trial, run_log_of, sha256_of
from foresail.run_status import read_run
from schemas.config import CODE_VERSION

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "examples" / "predecessor" / "trace.jsonl"


def parsed(path: Path) -> argparse.Namespace:
    """Return what `foresail forecast train --seed 7 --run FILE` is parsed to."""
    return argparse.Namespace(verb="forecast", action="train", run_log=path, seed=7)


def test_stages_files_and_trials_are_told(tmp_path: Path) -> None:
    """What goes through the progress bars is told, without a terminal, too; a folder file by file."""
    path, folder = tmp_path / "run.fslog", tmp_path / "model"
    folder.mkdir()
    (folder / "manifest.json").write_text("{}")
    with run_log_of(parsed(path), ["forecast", "train"]) as outcome:
        with doing_shares("training") as advance:
            advance("fold 1", 0.02)
            advance("fold 1", 0.5)
            running = read_run(path)
        with doing_stages("reading") as count:
            count("events", 3, 10)
            count("labels", 1, 1)
        with bar("playing", 2) as reached:
            note_trial("short", 1, -1.5, {"arm": "us"})
            reached(1)
            note_trial("short", 2, 0.5, {"arm": "hpa"})
        note_artifact(folder, "model")
        outcome.code = ExitCode.DIFFERS
    run = read_run(path)

    assert (running.stages["training"].status, running.stages["training"].progress_ratio) == (
        "running",
        0.5,
    )
    assert running.complete is None
    assert {name: (one.status, one.samples) for name, one in run.stages.items()} == {
        "training": ("complete", None),
        "events": ("complete", 3),
        "labels": ("complete", 1),
        "playing": ("complete", 1),
    }
    (file,) = run.artifacts
    assert (file.file_name, file.kind) == ("model/manifest.json", "model")
    assert file.sha256 == sha256_of(folder / "manifest.json")
    assert run.best is not None
    assert (run.trials, run.best.trial) == (2, 2)
    assert run.complete is not None
    assert (run.complete.status, run.complete.summary) == ("complete", {"exit_code": 1})
    assert run.manifest is not None
    assert run.manifest.seeds == {"seed": 7}
    assert run.manifest.code_version == CODE_VERSION


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (InputError("--rounds", 0, "give 1 or more"), "failed", "--rounds = 0: give 1 or more"),
        (ValueError("two\nlines"), "failed", "ValueError: two lines"),
        (KeyboardInterrupt(), "interrupted", "stopped by Ctrl-C or a signal"),
    ],
)
def test_a_run_that_fails_says_so(
    error: BaseException, status: str, reason: str, tmp_path: Path
) -> None:
    """Its stage has failed and says why in one line, a failure is told, and `status --run` is no success."""
    path = tmp_path / "run.fslog"
    with (
        pytest.raises(type(error)),
        run_log_of(parsed(path), []),
        doing_shares("training"),
    ):
        raise error

    run = read_run(path)
    assert run.complete is not None
    assert run.complete.status == status
    assert (run.stages["training"].status, run.stages["training"].detail) == ("failed", reason)
    assert [one.text for one in run.errors] == ([reason] if status == "failed" else [])
    assert main(["status", "--run", str(path)]) == ExitCode.DIFFERS


def test_no_password_is_told() -> None:
    """An address keeps its user; the rest of the words is as it was given."""
    words = ["up", "--prometheus", "http://me:secret@host:9090/x", "--nodes", "4"]

    told = manifest_of(words, {})["arguments"]
    assert told == ("up", "--prometheus", "http://me:***@host:9090/x", "--nodes", "4")


def test_without_the_flag_nothing_is_written(tmp_path: Path) -> None:
    """Stages and files go nowhere."""
    with run_log_of(argparse.Namespace(verb="verify"), []), doing_shares("training") as advance:
        advance("fold 1", 0.5)
        note_artifact(tmp_path / "missing", "model")

    assert list(tmp_path.iterdir()) == []


def test_a_verb_writes_its_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An episode names its stage, its rows and its file; verifying it counts the messages that were read."""
    monkeypatch.chdir(tmp_path)
    assert main(["run-trace", str(TRACE), "e.fslog", "--run", "a.fslog"]) == ExitCode.GOOD
    assert main(["verify", "e.fslog", "--from", "prediction", "--run", "b.fslog"]) == ExitCode.GOOD
    capsys.readouterr()
    assert main(["status", "--run", "a.fslog", "--json"]) == ExitCode.GOOD
    episode = json.loads(capsys.readouterr().out)
    verified = read_run(Path("b.fslog"))

    assert [(one["stage"], one["status"]) for one in episode["stages"]] == [("episode", "complete")]
    assert episode["stages"][0]["samples"] > 0
    assert [(one["file_name"], one["kind"]) for one in episode["artifacts"]] == [
        ("e.fslog", "recording")
    ]
    assert episode["artifacts"][0]["sha256"] == sha256_of(Path("e.fslog"))
    assert verified.stages["verifying"].samples == len(list(_messages(Path("e.fslog"))))


def _messages(path: Path) -> list[object]:
    from bus.recording import open_recording

    return list(open_recording(path))


@pytest.mark.parametrize("name", ["nothing", "../x"])
def test_an_unknown_run_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line with field, value and remedy."""
    assert main(["status", "--run", name]) == ExitCode.BAD_INPUT
    assert f"--run = {name}: give the FILE" in capsys.readouterr().err
