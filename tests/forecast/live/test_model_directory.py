"""A model directory is what its manifest says, or it is refused in one clear line."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bus.errors import InputError
from foresail import up
from lab.forecast.model_writer import thresholds_by_budget
from services.inference.models import load
from services.inference.settings import InferenceSettings
from services.model_folders import read_manifest
from tests.forecast.live.one_split import one_split


def load_model(folder: Path) -> None:
    """Load a model as inference does."""
    load(InferenceSettings(model=str(folder), shadow_models=()))


def edit_manifest(folder: Path, **changes: Any) -> None:
    """Change fields of a manifest by hand."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_writing_twice_gives_the_same_bytes(make_model: Any) -> None:
    """Equal parts are an equal directory: no time, no path, no chance."""
    first = make_model("tiny")
    before = {path.name: path.read_bytes() for path in first.iterdir()}
    again = make_model("tiny")

    assert {path.name: path.read_bytes() for path in again.iterdir()} == before
    assert set(before) == {"manifest.json", "card.md", "risk-900s.ubj"}


def test_another_split_is_another_version(make_model: Any) -> None:
    """A model that can give another number has another id."""
    manifest, other = read_manifest(make_model("tiny")), read_manifest(make_model("tiny", 1.5))

    assert manifest.model_id.startswith("tiny/")
    assert manifest.model_id != other.model_id


def test_a_folder_that_holds_something_else_is_not_replaced(
    make_model: Any, tmp_path: Path
) -> None:
    """Writing a model never removes what is no model."""
    (tmp_path / "tiny").mkdir()

    with pytest.raises(InputError, match="it exists and holds no model"):
        make_model("tiny")


def test_a_missing_file_is_named(make_model: Any) -> None:
    """The booster that the manifest names must be there."""
    folder = make_model()
    (folder / "risk-900s.ubj").unlink()

    with pytest.raises(InputError, match=r"tiny/\w+ booster = risk-900s\.ubj: the file is missing"):
        load_model(folder)


def test_a_wrong_hash_is_named(make_model: Any) -> None:
    """Other bytes than those that were trained are refused."""
    folder = make_model()
    (folder / "risk-900s.ubj").write_bytes(b"something else")

    with pytest.raises(InputError, match=r"risk-900s\.ubj: its SHA-256 is \w+\.\.\., the manifest"):
        load_model(folder)


def test_an_edited_manifest_is_refused(make_model: Any) -> None:
    """A threshold changed by hand would be another model under the old name."""
    folder = make_model()
    edit_manifest(folder, thresholds={"safety": {"throttle_risk_ratio": 0.9}})

    with pytest.raises(InputError, match=r"manifest\.json version = \w+: .* it was edited"):
        load_model(folder)


def test_another_format_is_refused(make_model: Any) -> None:
    """A directory of a later version is not guessed at."""
    folder = make_model()
    edit_manifest(folder, format=2)

    with pytest.raises(InputError, match="format = 2: this version reads format 1"):
        load_model(folder)


def test_a_manifest_that_is_no_json_is_refused(make_model: Any) -> None:
    """A damaged file is one line."""
    folder = make_model()
    (folder / "manifest.json").write_text("{")

    with pytest.raises(InputError, match=r"tiny/manifest\.json = no JSON"):
        load_model(folder)


def test_a_feature_missing_live_is_named(make_model: Any) -> None:
    """A model trained on what only a trace has cannot run live, and the feature says why."""
    folder = make_model(changes={"features": [("task_index", "index"), ("job_fails", "events")]})

    with pytest.raises(InputError, match="feature = task_index: it does not exist live"):
        load_model(folder)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"feature_set_version": 99}, "feature_set_version = 99: this code computes version"),
        ({"feature_set": "weather"}, "feature_set = weather: use one of"),
        ({"features": [("job_fails_60m", "parsecs")]}, "unit of job_fails_60m = parsecs"),
    ],
)
def test_features_computed_otherwise_are_refused(
    make_model: Any, changes: dict[str, Any], line: str
) -> None:
    """Set, version and unit must be those of this code."""
    one_column = {"features": [("job_fails_60m", "events")]}
    folder = make_model(changes=one_column | changes, raw=one_split(1, 0, 0.5))

    with pytest.raises(InputError, match=line):
        load_model(folder)


def test_thresholds_follow_from_budgets() -> None:
    """The stated share of numbers reaches each threshold, and smaller budgets are stricter."""
    numbers = np.arange(1000) / 1000

    thresholds = thresholds_by_budget(numbers, {"a": 0.001, "b": 0.01, "c": 0.05})

    assert thresholds == {"a": 0.999, "b": 0.99, "c": 0.95}


def test_tied_numbers_give_different_thresholds() -> None:
    """Where all numbers are equal the thresholds still differ, and stay between 0 and 1."""
    for value in (0.0, 0.25, 1.0):
        thresholds = thresholds_by_budget(np.full(50, value), {"a": 0.01, "b": 0.1, "c": 0.5})

        assert 1.0 >= thresholds["a"] > thresholds["b"] > thresholds["c"] >= 0.0


def test_a_wrong_model_stops_the_stack_before_anything_starts(
    make_model: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`foresail up` names the file and what is wrong with it, and leaves no state folder behind."""
    folder = make_model()
    (folder / "risk-900s.ubj").write_bytes(b"something else")
    monkeypatch.chdir(tmp_path)
    parser = ArgumentParser()
    up.add_arguments(parser)
    arguments = parser.parse_args(["--model", str(folder), "--for", "5s", "--json"])

    with pytest.raises(InputError, match=r"risk-900s\.ubj: its SHA-256"):
        up.main(arguments)

    assert not (tmp_path / ".foresail").exists()
