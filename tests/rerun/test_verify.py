"""`foresail verify`: today's code says what the recording says, or the first difference is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bus.exit_codes import ExitCode
from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from foresail.__main__ import main
from lab.rerun.engine import LAYERS
from lab.rerun.verify import verify
from tests.rerun.conftest import record, rewritten, with_data


def test_a_recording_of_this_code_is_computed_again_byte_for_byte(recorded_run: Path) -> None:
    """Every observation, prediction, proposal, decision, reward and score is equal."""
    report = verify(recorded_run)

    assert report.holds
    assert all(layer.equal > 0 for layer in report.layers.values())
    assert not any(layer.ungrounded for layer in report.layers.values())
    assert report.added == {}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_changed_event_is_found_where_it_is(
    recorded_run: Path, layer: str, tmp_path: Path
) -> None:
    """One changed number is the first difference, in its own layer; it does not spread over the rest."""
    changes = {
        "observation": ("observation", ("totals", "queue_length"), 1),
        "prediction": ("prediction.risk", ("horizon_seconds",), 1.0),
        "proposal": ("proposal.safety", ("priority",), 1),
        "decision": ("decision", ("repeat_count",), 1_000),
        "outcome": ("outcome.reward", ("predicted", "total"), 1.0),
    }
    ending, path, by = changes[layer]
    seen = 0

    def change(message: StoredMessage) -> StoredMessage:
        nonlocal seen
        if not message.subject.endswith(f".{ending}") or ".untouched." in message.subject:
            return message
        seen += 1
        return with_data(message, lambda data: _add(data, path, by)) if seen == 20 else message

    report = verify(rewritten(recorded_run, tmp_path / "changed.fslog", change))

    assert report.first is not None
    assert report.first.layer == layer
    assert [field.path for field in report.first.fields] == [".".join(path)]
    before = LAYERS[: LAYERS.index(layer)]
    assert all(report.layers[name].different == 0 for name in before)
    assert report.layers[layer].equal > report.layers[layer].different


def _add(data: dict[str, Any], path: tuple[str, ...], by: float) -> None:
    for name in path[:-1]:
        data = data[name]
    data[path[-1]] += by


def test_the_first_difference_is_shown_with_its_causes(
    recorded_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A decision that nobody would make fails with exit code 1, the field and the chain to the snapshot."""

    def change(message: StoredMessage) -> StoredMessage:
        if not message.subject.endswith(".decision"):
            return message
        return with_data(message, lambda data: data.update(score=0.123))

    path = rewritten(recorded_run, tmp_path / "changed.fslog", change)

    assert 1 == main(["verify", str(path), "--json"])

    first = json.loads(capsys.readouterr().out)["first_difference"]
    assert {"path": "score", "recorded": 0.123} == {
        key: first["fields"][0][key] for key in ("path", "recorded")
    }
    subjects = [cause["subject"].rsplit(".", 1)[-1] for cause in first["causes"]]
    assert {"observation", "risk", "safety", "nodes", "placements", "workloads"} <= set(subjects)
    assert 1 == main(["verify", str(path)])
    assert "first difference" in capsys.readouterr().out


def test_an_agent_that_is_not_installed_is_named(
    recorded_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its proposals are taken as recorded and counted, which is not everything: exit code 4."""
    monkeypatch.setattr("lab.rerun.engine.agent_names", lambda: ("safety", "admission"))

    assert ExitCode.NOTHING_COMPARED == main(["verify", str(recorded_run), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["as_recorded"] == {"efficiency": report["layers"]["decision"]["equal"]}
    assert not report["holds"]
    assert report["first_difference"] is None

    assert ExitCode.NOTHING_COMPARED == main(["verify", str(recorded_run)])
    printed = " ".join(capsys.readouterr().out.split())
    assert "proposals of efficiency taken as recorded" in printed
    assert "that is not everything" in printed
    assert ExitCode.GOOD == main(["verify", str(recorded_run), "--from", "decision"])


def test_causes_and_ids_are_compared_too(recorded_run: Path, tmp_path: Path) -> None:
    """An event with the right data and another id or cause is another event."""

    def change(message: StoredMessage) -> StoredMessage:
        if not message.subject.endswith(".proposal.admission"):
            return message
        headers = {**message.headers, "ce-causationid": "somebody-else"}
        return replace(message, headers=headers)

    report = verify(rewritten(recorded_run, tmp_path / "changed.fslog", change))

    assert report.first is not None
    assert [field.path for field in report.first.fields] == ["causes"]


def test_a_layer_can_be_left_as_recorded(recorded_run: Path) -> None:
    """`--from decision` computes decisions and outcomes only."""
    report = verify(recorded_run, frozenset({"decision", "outcome"}))

    assert set(report.layers) == {"decision", "outcome"}
    assert report.holds


def test_a_model_that_is_not_there_is_one_clear_line(
    recorded_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recording made with a model that this machine lacks ends with exit code 2 and its name."""

    def change(message: StoredMessage) -> StoredMessage:
        if not message.subject.endswith(".config.inference"):
            return message
        return with_data(message, lambda data: data["settings"].update(model="borg-risk/0123"))

    path = rewritten(recorded_run, tmp_path / "other.fslog", change)

    assert 2 == main(["verify", str(path)])
    output = capsys.readouterr().err
    assert "borg-risk/0123" in output
    assert 1 == output.count("\n")


def test_settings_that_are_not_in_the_recording_are_named(
    recorded_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the referee's announcement nothing is guessed."""

    def change(message: StoredMessage) -> StoredMessage | None:
        return None if message.subject.endswith(".config.agent-safety") else message

    path = rewritten(recorded_run, tmp_path / "other.fslog", change)

    assert 2 == main(["verify", str(path)])
    assert "config.agent-safety" in capsys.readouterr().err


def test_announcements_may_come_after_what_they_are_about(
    recorded_run: Path, tmp_path: Path
) -> None:
    """Processes start when they can: what a slow one read before it announced itself still counts."""
    recording = open_recording(recorded_run)
    messages = list(recording)
    slow = ("config.inference", "config.agent-safety", "config.scoreboard", "config.referee")
    late = [message for message in messages if message.subject.endswith(slow)]
    rest = [message for message in messages if message not in late]
    first = next(n for n, message in enumerate(rest) if message.subject.endswith(".observation"))
    header = {k: v for k, v in recording.header.items() if k not in {"format", "version"}}
    writer = RecordingWriter(tmp_path / "late.fslog", header)
    for seq, message in enumerate((*rest[: first + 1], *late, *rest[first + 1 :]), start=1):
        writer.write(replace(message, seq=seq))
    writer.seal()

    report = verify(tmp_path / "late.fslog")

    assert report.holds, report.first


def test_a_part_of_a_recording_is_computed_from_its_checkpoints(tmp_path: Path) -> None:
    """A cut that begins inside the log verifies from its first checkpoints on, without a difference."""
    whole, part = record(tmp_path / "whole.fslog", seconds=200), tmp_path / "part.fslog"
    assert 0 == main(["recording", "cut", str(whole), str(part), "--cycle", "28..38"])
    seqs = [message.seq for message in open_recording(part)]
    assert len(seqs) < seqs[-1]  # what lies before the checkpoints is left out

    report = verify(part)

    assert report.holds, report.first
    assert all(layer.equal >= 11 for layer in report.layers.values())


def test_floats_of_another_cpu_are_an_environment_difference(
    recorded_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trained model's prediction that differs in nothing but last digits does not fail the run."""

    def change(message: StoredMessage) -> StoredMessage:
        if not message.subject.endswith(".prediction.shadow.1"):
            return message
        return with_data(message, _last_digits)

    path = rewritten(recorded_run, tmp_path / "elsewhere.fslog", change)

    assert 0 == main(["verify", str(path), "--json"])
    content = json.loads(capsys.readouterr().out)
    assert content["layers"]["prediction"]["environment"] > 0
    assert content["first_difference"]["environment"]


def _last_digits(data: dict[str, Any]) -> None:
    table = data["risk_table"]
    table["risk_ratio"] = [round(one + 1e-6, 6) for one in table["risk_ratio"]]
