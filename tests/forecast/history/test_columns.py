"""Every column has one name, a unit and a meaning."""

from __future__ import annotations

import re

import pytest

from features.history import FEATURE_SETS, Anchors, Events, History, TaskEvents

SOURCES = {"attempts", "jobs", "requests", "nodes"}


@pytest.mark.parametrize("name", sorted(FEATURE_SETS))
def test_columns_are_named_once_and_explained(name: str) -> None:
    """No set has two columns of one name, or one without unit, source and meaning."""
    features = FEATURE_SETS[name].features
    assert len({feature.name for feature in features}) == len(features)
    for feature in features:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", feature.name), feature
        assert feature.unit, feature
        assert feature.meaning, feature
        assert feature.source in SOURCES, feature
        assert feature.name.endswith("_seconds") == (feature.unit == "seconds"), feature


def test_live_columns_mean_what_they_mean_in_traces() -> None:
    """A column in both sets is the same one, and the live set needs nothing that only traces have."""
    full = {feature.name: feature for feature in FEATURE_SETS["full"].features}
    live = FEATURE_SETS["live"].features
    hazard = {feature.name: feature for feature in FEATURE_SETS["hazard"].features}
    assert all(hazard.get(feature.name, feature) == feature for feature in live)
    assert {feature.key for feature in hazard.values()} == {"row", "job", "user", "machine"}
    assert FEATURE_SETS["hazard"].window_us(of_jobs=False) == FEATURE_SETS["live"].window_us(
        of_jobs=False
    )
    assert all(full.get(feature.name, feature) == feature for feature in live)
    assert {feature.key for feature in live} <= {"row", "job", "user", "machine", "cell"}
    assert {feature.source for feature in live} == {"attempts", "nodes"}


@pytest.mark.parametrize("name", sorted(FEATURE_SETS))
def test_a_shift_of_time_and_new_ids_change_nothing(name: str) -> None:
    """No column knows the clock or an id: the same story later, under other ids, has equal values."""

    def told(shift_us: int, ids: int) -> list[str]:
        starts = [10_000_000, 70_000_000, 200_000_000]
        events = TaskEvents.of(
            time_us=[start + shift_us for start in (*starts, 300_000_000)],
            kind=[0, 1, 1, 3],
            job=[ids] * 4,
            task=[0, 0, 1, 0],
            name=[ids + 1] * 4,
            user=[ids + 2] * 4,
            machine=[ids + 3] * 4,
            attempt_start_us=[-1, -1, -1, starts[1] + shift_us],
        )
        past = History.begin(FEATURE_SETS[name]).extend(Events(events))
        row = Anchors.of(
            time_us=[400_000_000 + shift_us],
            job=[ids],
            task=[1],
            name=[ids + 1],
            user=[ids + 2],
            machine=[ids + 3],
        )
        return [repr(value) for value in past.features(row)[0].tolist()]

    assert told(0, 1) == told(10**15, 2**60)
