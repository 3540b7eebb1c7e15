"""`foresail effects`: what each kind of action changes, as people and scripts see it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from foresail.effects import NOTHING, as_json, view
from projections.score.prices import ScorePrices
from projections.target_effects import KindEffect, TargetEffects
from schemas.proposal import UntouchedDraw


def printed(effects: TargetEffects) -> str:
    """Return what is shown, without runs of blanks."""
    out = io.StringIO()
    Console(file=out, width=200).print(view(effects))
    return " ".join(out.getvalue().split())


def drawn() -> TargetEffects:
    """Return estimates of two kinds, one of them without any target that was left."""
    kinds = {
        "replicate": KindEffect([3.0, 4.0, 5.0, 4.0], [1.0, 2.0, 3.0], [2.0, 2.5, 3.0, 2.5], 2),
        "migrate": KindEffect([1.0]),
    }
    draw = UntouchedDraw(seed=7, ratio=0.05, epoch=1, ends_seconds=7_200.0)
    return TargetEffects(kinds=kinds, prices=ScorePrices(), draw=draw)


def test_each_kind_has_its_counts_its_effect_and_what_was_expected() -> None:
    """Counts of both groups and of what was cut; no estimate where nothing was left."""
    text = printed(drawn())
    assert "5% of the eligible targets are left untouched in each epoch, seed 7" in text
    assert "replicate 4 3 2 +2 -0.25 to +4.25 +2.5" in text
    assert "migrate 1 0 0 - - -" in text


def test_scripts_get_the_same_numbers() -> None:
    """As JSON values, unrounded."""
    content = as_json(drawn())
    replicate = content["kinds"]["replicate"]
    assert (replicate["proposed"], replicate["left"], replicate["cut"]) == (4, 3, 2)
    assert replicate["effect"]["per_hour"] == pytest.approx(2.0)
    assert replicate["expected_money_per_hour"] == pytest.approx(2.5)
    assert content["kinds"]["migrate"]["effect"] is None


def test_a_log_without_draws_says_how_to_get_them() -> None:
    """Instead of an empty table."""
    assert printed(TargetEffects()) == NOTHING
