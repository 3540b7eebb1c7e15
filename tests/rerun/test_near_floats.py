"""Floats that nearly agree: tolerated where a trained model computed them, a difference anywhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bus.port import StoredMessage
from lab.rerun import compare
from lab.rerun.stage import Pair
from lab.rerun.verify import LayerCount, verify
from schemas.envelope import NewEvent
from schemas.prediction import BandTable, DemandBands, PredictionDemand
from tests.builders import ORIGIN, make_demand, stamp_event
from tests.rerun.conftest import recorded_of, rewritten, with_data

LAST_DIGIT = 1e-6
OUTSIDE_TABLES = re.compile(r"(?!frame|nodes|pods).*")
"""Floats of an observation that no later observation builds on."""
COMPUTED = re.compile(r"(risk_table\.risk_ratio|contributions\.contribution)\.?")
"""What a shadow prediction of a trained risk model computes."""
Place = tuple[Any, str]
"""A container and the key or index of a float in it."""


def floats(value: Any, path: str = "") -> Iterator[tuple[str, Place]]:
    """Yield every float inside JSON with its path, without the indices of lists."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in pairs:
        where = f"{path}.{key}".strip(".") if isinstance(value, dict) else path
        if isinstance(one, float):
            yield where, (value, key)
        elif isinstance(one, dict | list):
            yield from floats(one, where)


def nudge_float(data: dict[str, Any], turn: int, by: float, only: re.Pattern[str] | None) -> str:
    """Change one float of an event, in turn another one; return its path, empty where there is none."""
    found = [(path, at) for path, at in floats(data) if only is None or only.fullmatch(path)]
    paths = sorted({path for path, _ in found})
    if not paths:
        return ""
    expected = paths[turn % len(paths)]
    container, key = next(at for path, at in found if path == expected)
    container[key] = round(container[key] + by, 6)
    return expected


def write_changed(
    recorded_run: Path, to: Path, ending: str, by: float, only: re.Pattern[str] | None = None
) -> tuple[Path, list[str]]:
    """Write a recording with one float changed in each event of a subject; return the paths changed."""
    done: list[str] = []

    def change(message: StoredMessage) -> StoredMessage:
        if not message.subject.endswith(ending) or ".untouched." in message.subject:
            return message
        return with_data(message, one)

    def one(data: dict[str, Any]) -> None:
        path = nudge_float(data, len(done), by, only)
        if path:
            done.append(path)

    return rewritten(recorded_run, to, change), done


def layer_count(path: Path, layer: str) -> LayerCount:
    """Return what verifying comes to in one layer."""
    return verify(path).layers[layer]


@pytest.mark.parametrize(
    ("layer", "ending"),
    [
        ("observation", ".observation"),
        ("prediction", ".prediction.risk"),
        ("prediction", ".prediction.demand"),
        ("proposal", ".proposal.safety"),
        ("proposal", ".proposal.efficiency"),
        ("proposal", ".proposal.admission"),
        ("decision", ".decision"),
        ("outcome", ".outcome.reward"),
        ("outcome", ".outcome.forecast"),
    ],
)
def test_a_last_digit_is_a_difference(
    recorded_run: Path, tmp_path: Path, layer: str, ending: str
) -> None:
    """Each event with one float changed in its sixth decimal differs, whichever float it is: of an
    observation, a formula's prediction, a proposal, a decision, a reward or a forecast score.
    """
    only = OUTSIDE_TABLES if layer == "observation" else None
    path, done = write_changed(recorded_run, tmp_path / "near.fslog", ending, LAST_DIGIT, only)
    actual = layer_count(path, layer)

    assert len(done) > 5
    assert (len(done), 0) == (actual.different, actual.environment)


def test_a_last_digit_in_a_table_is_a_difference(recorded_run: Path, tmp_path: Path) -> None:
    """A cell of an observation's delta differs; what builds on that delta is not compared, or differs."""
    cells = re.compile(r"frame\.deltas\..*")
    path, done = write_changed(
        recorded_run, tmp_path / "near.fslog", ".observation", LAST_DIGIT, cells
    )
    actual = layer_count(path, "observation")

    assert {"nodes"} <= {one.split(".")[2] for one in done}
    assert actual.different > 0
    assert len(done) <= actual.different + actual.ungrounded
    assert actual.environment == 0


def test_what_a_trained_model_computes_may_differ_in_last_digits(
    recorded_run: Path, tmp_path: Path
) -> None:
    """Its ratios and contributions, up to a thousandth, are an environment difference; beyond it they are
    a difference.
    """
    near, done = write_changed(
        recorded_run, tmp_path / "a", ".prediction.shadow.1", 0.0009, COMPUTED
    )
    far, _ = write_changed(recorded_run, tmp_path / "b", ".prediction.shadow.1", 0.02, COMPUTED)

    assert len(done) > 2
    assert (0, len(done)) == (
        layer_count(near, "prediction").different,
        layer_count(near, "prediction").environment,
    )
    assert layer_count(far, "prediction").different > 0


def test_what_a_trained_model_was_given_may_not_differ(recorded_run: Path, tmp_path: Path) -> None:
    """Horizon, times, thresholds, the age and the value of inputs are no model's output."""
    others = re.compile(rf"(?!{COMPUTED.pattern}).*")
    path, done = write_changed(
        recorded_run, tmp_path / "near.fslog", ".prediction.shadow.1", LAST_DIGIT, others
    )
    actual = layer_count(path, "prediction")

    assert {"cluster_time_seconds", "horizon_seconds", "alarm_ratio"} <= set(done)
    assert (len(done), 0) == (actual.different, actual.environment)


def test_a_difference_behind_many_near_ones_is_seen(
    recorded_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More near floats than are listed do not hide what stands behind them."""
    monkeypatch.setattr(compare, "SHOWN_FIELDS", 5)

    def change(message: StoredMessage) -> StoredMessage:
        if not message.subject.endswith(".prediction.shadow.1"):
            return message
        return with_data(message, near_but_the_last)

    def near_but_the_last(data: dict[str, Any]) -> None:
        *first, last = data["risk_table"]["risk_ratio"]
        assert len(first) > 5
        data["risk_table"]["risk_ratio"] = [
            *(round(one + LAST_DIGIT, 6) for one in first),
            last + 1,
        ]

    found = layer_count(rewritten(recorded_run, tmp_path / "near.fslog", change), "prediction")

    assert found.different > 0
    assert found.environment == 0


def test_bands_of_a_trained_model_may_differ_in_last_digits() -> None:
    """They come with a formula's demand, of which everything else is compared to the last digit, as minutes are."""
    table = BandTable(
        ids=("service/shop/web",), newest=(30.0,), low=(28.0,), middle=(30.0,), high=(32.0,), rule=("rates/1",),
        basis=("own",),
    )  # fmt: skip

    def only_environment_of(step_seconds: float, by: float, field: str = "high") -> bool:
        def said(value: float) -> PredictionDemand:
            ends = table.model_copy(update={field: (value,)})
            bands = DemandBands(
                horizon_seconds=300.0,
                end_time_seconds=600.0,
                step_seconds=step_seconds,
                series=ends,
            )
            return make_demand(bands=(bands,))

        event = stamp_event(said(32.0), seq=1)
        pair = Pair(
            "inference",
            "prediction",
            recorded_of(event),
            NewEvent(said(32.0 + by), 1, 0.0, ()),
            equal=False,
        )
        return compare.only_environment(pair, ORIGIN)

    assert only_environment_of(300.0, LAST_DIGIT)
    assert not only_environment_of(300.0, 1.0)
    assert not only_environment_of(60.0, LAST_DIGIT)
    assert not only_environment_of(300.0, LAST_DIGIT, field="newest")
