"""The safety net: a run played again is equal, and a change that was planted is named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bus.port import StoredMessage
from proofs.safety_net.__main__ import main
from proofs.safety_net.digests import differences, digest_recording
from tests.rerun.conftest import rewritten, with_data

RUN = "trap/failed-job/foresail"
FAMILIES = {"snapshot.nodes", "observation", "prediction.risk", "proposal.safety", "decision",
            "outcome.execution", "reaction", "untouched.observation"}  # fmt: skip


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play one trap; return the file of its digests, beside its recording."""
    file = tmp_path_factory.mktemp("net") / "digests.json"
    assert main([RUN, "--write", "--digests", str(file), "--results", str(file.parent)]) == 0
    return file


def changed_lines(
    known: Path, to: Path, change: Callable[[StoredMessage], StoredMessage | None]
) -> list[str]:
    """Return what is said of the recording once `change` was made to it."""
    (recording,) = known.parent.glob("*.fslog")
    changed = rewritten(recording, to / f"{change.__name__}.fslog", change)
    return list(differences(digest_recording(recording)[0], *digest_recording(changed)))


def test_only_what_is_not_as_it_was_is_named(
    known: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Played again, every layer is equal but the one whose digest was changed, and a lost run is named."""
    content = json.loads(known.read_text())
    assert content[RUN].keys() >= FAMILIES
    assert not any(family.startswith("checkpoint") for family in content[RUN])
    content[RUN]["decision"] = content[RUN]["decision"].replace(" ", " changed", 1)
    (tmp_path / "digests.json").write_text(json.dumps(content | {"trap/lost": {}}))
    assert main([RUN, "--digests", str(tmp_path / "digests.json")]) == 1
    decision, lost, summary = capsys.readouterr().out.splitlines()
    assert decision.startswith(f"{RUN} decision: 48 events, were 48; first difference: number 48, ")
    assert lost == "trap/lost: no run of the set any more"
    assert summary == "1 runs played, 2 differences"


def test_the_first_changed_event_is_named(known: Path, tmp_path: Path) -> None:
    """One decision differs, one proposal is lost, reactions end early: each layer with its place."""

    def change(message: StoredMessage) -> StoredMessage | None:
        layer = message.subject.partition(".")[2].partition(".")[2]
        cycle = json.loads(message.data).get("cycle")
        if layer == "decision" and cycle == 5:
            return with_data(message, lambda data: data.update(planted=1))
        lost = (layer == "proposal.safety" and cycle == 5) or (layer == "reaction" and cycle > 9)
        return None if lost else message

    decision, proposal, reaction = changed_lines(known, tmp_path, change)
    # One time in 64 a mark is equal by chance, and the next one is named.
    assert re.fullmatch(
        r"decision: (\d+) events, were \1; first difference: number [56], "
        r"foresail\.decision\.v2, \S+, id \S+, seq \d+",
        decision,
    )
    assert re.match(r"proposal\.safety: \d+ .* number [56], foresail\.proposal\.v1", proposal)
    assert re.fullmatch(r"reaction: (\d+) events, were \d+; .* number \d+, which is gone", reaction)


def test_another_version_of_the_code_is_no_difference(known: Path, tmp_path: Path) -> None:
    """Settings hashes and the code's version may change; a setting may not."""

    def version(message: StoredMessage) -> StoredMessage:
        if ".config." not in message.subject:
            return replace(message, headers={**message.headers, "ce-confighash": "0"})
        renamed = replace(message, headers={**message.headers, "ce-id": f"new-{message.seq}"})
        return with_data(renamed, lambda data: data.update(code_version="9", config_hash="0"))

    def setting(message: StoredMessage) -> StoredMessage:
        if not message.subject.endswith(".config.referee"):
            return message
        return with_data(message, lambda data: data["settings"].update(planted=1))

    assert changed_lines(known, tmp_path, version) == []
    (line,) = changed_lines(known, tmp_path, setting)
    assert line.startswith("config.referee: 1 events, were 1; first difference: number 1")


def test_what_cannot_be_played_is_said(
    known: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the traces their runs are skipped by name, and nothing played is no success."""
    monkeypatch.delenv("FORESAIL_DATA", raising=False)
    assert main(["google2011/real", "--digests", str(known)]) == 2
    assert "skipped google2011/real: FORESAIL_DATA has no" in capsys.readouterr().out
