"""Recordings of every schema version are computed again to the last byte; a wrong one is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bus.recording import open_recording
from foresail.__main__ import main
from lab.rerun.verify import verify
from lab.rerun.what_if import what_if
from schemas.envelope import attributes_of
from schemas.upcast import UPCASTERS

FOLDER = Path(__file__).parent
SMALL_BYTES = 100_000


@pytest.mark.parametrize("name", ["v0.fslog", "v1.fslog", "v2.fslog"])
def test_a_golden_recording_verifies(name: str) -> None:
    """Whatever was recorded by a version of the schemas, today's code says again."""
    report = verify(FOLDER / name)

    assert report.holds, report.first
    assert all(layer.equal > 0 for layer in report.layers.values())
    assert (FOLDER / name).stat().st_size < SMALL_BYTES


def test_the_oldest_one_needs_its_upcasters() -> None:
    """Version 0 tells predictions as rows; without upcasting nobody could read them."""
    types = {
        attributes_of(message.headers)["type"] for message in open_recording(FOLDER / "v0.fslog")
    }

    assert set(UPCASTERS) <= types
    assert not any(
        name.startswith("foresail.prediction.") and name.endswith(".v1") for name in types
    )
    assert what_if(FOLDER / "v0.fslog", {}, from_layer="observation").empty


def test_a_profile_by_its_new_name_decides_the_same() -> None:
    """Recordings made under `seed` verify as they are, and `baseline-rules` changes no decision."""
    report = what_if(FOLDER / "v1.fslog", {"agents.profile": "baseline-rules"})

    assert report.empty


def test_a_wrong_decision_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """The recording that must fail fails, at the decision that was changed."""
    assert 1 == main(["verify", str(FOLDER / "must_fail.fslog"), "--json"])

    first = json.loads(capsys.readouterr().out)["first_difference"]
    assert (first["layer"], first["cycle"]) == ("decision", 5)
    assert [field["path"] for field in first["fields"]] == ["parts[0].score"]
