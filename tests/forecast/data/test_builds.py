"""Named builds: complete or absent, resumed, repeated byte for byte."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from bus.errors import ConfigError, InputError
from features.history import Kind
from lab.forecast import dataset_build
from lab.forecast.builds import Build, finished_build
from lab.forecast.dataset import open_dataset
from lab.forecast.dataset_build import DatasetPlan, build_dataset
from lab.forecast.labels import LabelChoice
from lab.forecast.workspace import Workspace, workspace_of
from lab.traces.event_reader import EventReader
from tests.forecast.data.made import draw_events, made_reader


@pytest.fixture
def made_history(monkeypatch: pytest.MonkeyPatch) -> EventReader:
    """Let builds read a made history."""
    reader = made_reader(draw_events(seed=11, events=400, tasks=20), at_a_time=50)
    monkeypatch.setattr(dataset_build, "event_reader", lambda _trace, _common: reader)
    return reader


def _quiet(_stage: str, _done: int, _all: int) -> None:
    return None


def _plan(folder: Path, **changed: object) -> DatasetPlan:
    asked = {"feature_set": "live", **changed}
    return DatasetPlan(trace="made", given=folder, name="one", **asked)  # type: ignore[arg-type]


def _bytes(folder: Path) -> Mapping[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("anchor", ["schedule", "grid"])
def test_a_repeated_build_is_byte_identical(
    made_history: EventReader, tmp_path: Path, anchor: str
) -> None:
    """Two workspaces, one command: the same files with the same bytes, the manifest among them."""
    for place in ("a", "b"):
        build_dataset(_plan(tmp_path, anchor=anchor), tmp_path / place, _quiet)

    first = _bytes(tmp_path / "a" / "one")
    assert "manifest.json" in first
    assert first == _bytes(tmp_path / "b" / "one")
    assert str(tmp_path).encode() not in first["manifest.json"]


def test_an_interrupted_build_goes_on_where_it_was(
    made_history: EventReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Ctrl-C in a late stage, earlier stages are not done again, and the result is the same."""
    build_dataset(_plan(tmp_path), tmp_path / "whole", _quiet)

    def interrupt(*_given: object) -> None:
        raise KeyboardInterrupt

    def read_again(*_given: object) -> None:
        raise AssertionError("the events were read again")

    with monkeypatch.context() as patched:
        patched.setattr(dataset_build, "_features", interrupt)
        with pytest.raises(KeyboardInterrupt):
            build_dataset(_plan(tmp_path), tmp_path / "cut", _quiet)
    assert not (tmp_path / "cut" / "one").exists()
    with monkeypatch.context() as patched:
        patched.setattr(dataset_build, "_read", read_again)
        build_dataset(_plan(tmp_path), tmp_path / "cut", _quiet)

    assert _bytes(tmp_path / "whole" / "one") == _bytes(tmp_path / "cut" / "one")
    assert not (tmp_path / "cut" / "one.partial").exists()


def test_other_options_do_not_go_on_with_an_interrupted_build(tmp_path: Path) -> None:
    """What was half built from something else is thrown away."""
    Build(tmp_path / "one", {"anchor": "schedule"}).stage("read", lambda: {"events": 1})

    build = Build(tmp_path / "one", {"anchor": "grid"})

    assert {} == build.stages


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    """Bad input removes what the build had written so far."""
    build = Build(tmp_path / "one", {})

    def fail() -> Mapping[str, object]:
        (build.folder / "events.parquet").write_bytes(b"half")
        raise InputError("file", "x", "is bad")

    with pytest.raises(InputError):
        build.stage("read", fail)
    assert [] == list(tmp_path.iterdir())


def test_a_name_is_not_taken_over_silently(made_history: EventReader, tmp_path: Path) -> None:
    """The same build is found again; another one under its name is refused, unless told to replace."""
    plan, other = _plan(tmp_path), _plan(tmp_path, anchor="grid")
    build_dataset(plan, tmp_path, _quiet)

    assert build_dataset(plan, tmp_path, _quiet)[1]
    with pytest.raises(ConfigError, match="anchor"):
        build_dataset(other, tmp_path, _quiet)
    replaced = build_dataset(_plan(tmp_path, anchor="grid", replace=True), tmp_path, _quiet)
    assert ("grid", False) == (replaced[0]["anchor"], replaced[1])
    assert finished_build(tmp_path / "none", {}, replace=False) is None


def test_anchors_and_features_are_in_one_order(made_history: EventReader, tmp_path: Path) -> None:
    """Rows of a slice, of chunks and of the whole are the same rows, on disk or computed."""
    build_dataset(_plan(tmp_path), tmp_path, _quiet)
    build_dataset(
        DatasetPlan("made", tmp_path, "grid", anchor="grid", feature_set="live"), tmp_path, _quiet
    )
    stored, grid = open_dataset(tmp_path / "one"), open_dataset(tmp_path / "grid")

    anchors = stored.anchors().collect()
    chunks = list(stored.feature_chunks(rows_per_chunk=17))
    rows = sum(len(values) for _, values in grid.feature_chunks(rows_per_chunk=50))

    assert stored.rows == anchors.height == sum(len(values) for _, values in chunks)
    part = stored.features(rows=slice(17, 34))
    assert part.tobytes() == chunks[1][1].tobytes()
    assert stored.features([stored.feature_names[3]]).shape == (stored.rows, 1)
    assert grid.rows == rows
    assert LabelChoice((Kind.FAIL,), 15) == stored.choice


def test_counts_sum_to_the_rows(made_history: EventReader, tmp_path: Path) -> None:
    """Positives, negatives, censored and excluded rows are all the rows, at each horizon."""
    manifest, _ = build_dataset(_plan(tmp_path, feature_set="none"), tmp_path, _quiet)

    for horizon in manifest["anchors"]["by_horizon"]:
        parts = (
            "positives",
            "negatives",
            "censored",
            "excluded_ended_before",
            "excluded_uncertain",
        )
        assert manifest["anchors"]["rows"] == sum(horizon[part] for part in parts)


def test_an_attempt_that_was_acted_upon_has_no_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uncertain attempts stay in the dataset as history, without a label, and are counted."""
    events = draw_events(seed=11, events=400, tasks=20)
    reader = made_reader(events, at_a_time=50, uncertain_jobs=[1])
    monkeypatch.setattr(dataset_build, "event_reader", lambda _trace, _common: reader)
    manifest, _ = build_dataset(_plan(tmp_path, feature_set="none"), tmp_path, _quiet)

    anchors = open_dataset(tmp_path / "one").anchors().collect()

    assert {-1} == set(anchors.filter(job=1)["label_5m"])
    assert 0 in set(anchors.filter(job=2)["label_5m"])
    counted = {horizon["excluded_uncertain"] for horizon in manifest["anchors"]["by_horizon"]}
    assert {anchors.filter(job=1).height} == counted


def test_the_environment_names_the_folders(tmp_path: Path) -> None:
    """The three variables of the earlier system's scripts are honoured; the default is in the home."""
    named = workspace_of(
        {
            "BORG_XGBOOST_WORKSPACE": "/w",
            "BORG_DATA_DIR": "/d",
            "BORG_PROCESSED_DIR": "/p",
        },
        tmp_path,
    )

    assert Workspace(Path("/w"), Path("/d"), Path("/p")) == named
    assert Path("/w/models") == named.models
    plain = workspace_of({}, tmp_path)
    assert tmp_path / ".local/share/foresail/forecast/processed" == plain.processed


def test_an_unreadable_dataset_is_one_clear_line(tmp_path: Path) -> None:
    """A folder without manifest, or with one of another format, is refused by name."""
    with pytest.raises(ConfigError, match=r"holds no readable manifest\.json"):
        open_dataset(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(ConfigError, match="has format 99"):
        open_dataset(tmp_path)
    space = workspace_of({"BORG_XGBOOST_WORKSPACE": str(tmp_path)}, tmp_path)
    with pytest.raises(ConfigError, match="none is built yet"):
        space.dataset("nothing")
