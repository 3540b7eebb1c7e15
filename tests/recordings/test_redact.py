"""`redact`: no name is left, every join holds, and the result can be re-run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from bus.errors import InputError, Permanent
from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from bus.recording.check import check_file
from bus.recording.cut import cut_recording
from bus.recording.window import Window, WindowUnit
from foresail.__main__ import main
from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from lab.recordings.redact import redact
from lab.recordings.redaction import CollectedNames, Renaming
from lab.rerun.verify import verify
from schemas.registry import decode

SALT = b"0123456789abcdef"


@pytest.fixture(scope="module")
def redacted_run(run_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the run with other names."""
    path = tmp_path_factory.mktemp("redacted") / "r.fslog"
    redact(run_file, path, SALT)
    return path


def text_of(path: Path) -> str:
    """Return a whole recording as text."""
    unpacker = zstandard.ZstdDecompressor().stream_reader(
        path.read_bytes(), read_across_frames=True
    )
    return str(unpacker.read().decode())


def test_no_name_is_left(run_file: Path, redacted_run: Path) -> None:
    """Names of nodes, pods, workloads and namespaces that the run is full of occur nowhere."""
    before, after = text_of(run_file), text_of(redacted_run)
    for name in ("openb-node", "openb-ls", "exercise-", "foresail-exercise", "kube-system"):
        assert name in before
        assert name not in after


def test_the_result_passes_check_and_verify(redacted_run: Path) -> None:
    """Every hash fits, and today's code computes every layer from other names to the same bytes."""
    report = verify(redacted_run)

    assert check_file(redacted_run).whole
    assert report.holds
    assert report.compared > 400


def test_joins_and_numbers_are_kept(run_file: Path, redacted_run: Path) -> None:
    """Positions, times, ids, causes and every number are those of before; every message is an event."""
    for before, after in zip(open_recording(run_file), open_recording(redacted_run), strict=True):
        assert (before.seq, before.time_ns, before.subject) == (
            after.seq,
            after.time_ns,
            after.subject,
        )
        decode(after.subject, after.headers, after.data)
        if ".config." not in before.subject:
            assert before.headers["ce-id"] == after.headers["ce-id"]
            assert before.headers.get("ce-causationid") == after.headers.get("ce-causationid")
            assert shape(before) == shape(after)


def shape(message: StoredMessage) -> Any:
    """Return a message's data without its texts."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return [bare(one) for one in value.values()]
        if isinstance(value, list):
            return [bare(one) for one in value]
        return "" if isinstance(value, str) else value

    return bare(json.loads(message.data))


def test_the_same_salt_gives_the_same_file(
    run_file: Path, redacted_run: Path, tmp_path: Path
) -> None:
    """With the salt kept the result can be made again, byte for byte; without it, never."""
    (tmp_path / "salt").write_bytes(SALT)
    given = ["recording", "redact", str(run_file)]
    assert 0 == main([*given, str(tmp_path / "a"), "--salt-file", str(tmp_path / "salt")])
    assert redacted_run.read_bytes() == (tmp_path / "a").read_bytes()


def test_redacted_recordings_can_be_cut(redacted_run: Path, tmp_path: Path) -> None:
    """A part of a redacted recording can be re-run, with the history that a shadow model reads."""
    cut_recording(redacted_run, tmp_path / "part", Window(WindowUnit.CYCLE, 50, 52))
    report = verify(tmp_path / "part")

    assert report.holds
    assert report.layers["decision"].equal > 3


def test_parts_can_be_redacted(tmp_path: Path) -> None:
    """Deltas that continue a checkpoint's observation keep doing so under other names."""
    given: dict[str, Any] = {
        "run.virtual_time": True,
        "run.for_seconds": 130.0,
        "run.nodes": 4,
        "run.record": str(tmp_path / "run"),
        "inference.shadow_models": (),
    }
    run_virtual_stack(resolve(None, {}, given), quiet=True)
    cut_recording(tmp_path / "run", tmp_path / "part", Window(WindowUnit.CYCLE, 24, 25))
    redact(tmp_path / "part", tmp_path / "redacted", SALT)
    report = verify(tmp_path / "redacted")

    assert report.holds
    assert report.layers["decision"].equal >= 2


def test_packed_history_is_redacted_whole_or_not_at_all(run_file: Path, tmp_path: Path) -> None:
    """A part whose checkpoints hold history cannot be redacted; the line says what to do instead."""
    cut_recording(run_file, tmp_path / "part", Window(WindowUnit.CYCLE, 50, 52))
    with pytest.raises(InputError, match="redact the whole recording first, then cut"):
        redact(tmp_path / "part", tmp_path / "redacted", SALT)
    assert [tmp_path / "part"] == list(tmp_path.iterdir())


def test_what_others_say_keeps_no_label_and_no_user() -> None:
    """In sentences of the API server every word in quotes or braces goes, known names or not."""
    gathered = CollectedNames()
    gathered.take({"ids": ["web", "shop/web-1"], "namespace": "shop"})
    said = Renaming(gathered, SALT).take(
        {
            "message": 'pods "web-1" is forbidden: User "alice" cannot get in the namespace "shop"',
            "status_message": "0/3 nodes are available: 1 node(s) had untolerated taint {team: red},"
            " 2 node(s) had untolerated taint {node.kubernetes.io/not-ready: }",
            "text": "risk of web, the web of shop/web-1, shop",
        }
    )
    whole = json.dumps(said)

    assert not [word for word in ("alice", "web-1", "team", "red}", "shop/") if word in whole]
    assert "node.kubernetes.io/not-ready" in said["status_message"]
    assert "1 node(s) had untolerated taint {" in said["status_message"]
    assert said["text"].endswith(", shop")  # a plain word; it could be one of ours


def test_a_name_that_would_be_left_stops_everything(run_file: Path, tmp_path: Path) -> None:
    """A name at an unforeseen place is found before anything is written."""
    message = next(
        message for message in open_recording(run_file) if message.subject.endswith(".decision")
    )
    headers = {**message.headers, "x-note": "seen on openb-node-0001"}
    writer = RecordingWriter(tmp_path / "a", open_recording(run_file).header)
    for one in open_recording(run_file):
        changed = StoredMessage(one.seq, one.time_ns, one.subject, headers, one.data)
        writer.write(changed if one.seq == message.seq else one)
    writer.seal()

    with pytest.raises(Permanent, match="openb-node-0001"):
        redact(tmp_path / "a", tmp_path / "b", SALT)
    assert not (tmp_path / "b").exists()


def test_a_short_salt_is_refused(run_file: Path, tmp_path: Path) -> None:
    """A salt that could be guessed is no salt."""
    (tmp_path / "salt").write_bytes(b"short")
    given = ["recording", "redact", str(run_file), str(tmp_path / "a")]
    assert 2 == main([*given, "--salt-file", str(tmp_path / "salt")])
    with pytest.raises(InputError):
        redact(tmp_path / "missing", tmp_path / "a", SALT)
