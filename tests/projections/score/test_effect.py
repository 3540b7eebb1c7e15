"""Effect of acting in plain words, with the sign that it has in every report."""

from __future__ import annotations

import pytest

from projections.score.effect import effect_sentence, figures_of
from schemas.score import verdict_of
from tests.score_events import make_difference


@pytest.mark.parametrize(
    ("gain", "verdict"),
    [
        (0.3, "helps"),
        (-0.3, "harms"),
        (0.0, "no difference"),
        (-1e-9, "no difference"),
        (0.0001, "no difference"),
        (-0.0099, "no difference"),
        (-0.01, "harms"),
    ],
)
def test_a_gain_has_a_word(gain: float, verdict: str) -> None:
    """Less than a cent is no difference, whatever its sign."""
    assert verdict_of(gain) == verdict


def test_what_weighs_up_within_a_hundredth_is_no_difference() -> None:
    """A gain of 0.10 where 20 were moved to and fro; alone it would be one."""
    assert (verdict_of(0.1, 20.0), verdict_of(0.3, 20.0)) == ("no difference", "helps")
    difference = make_difference(360, waiting=500.0, jobs_completed=101.0)
    assert effect_sentence(difference).startswith("No difference in money: +0.1 USD")


def test_the_sentence_says_helps_or_harms_with_the_amount() -> None:
    """Five more pod-hours of waiting cost 0.1 USD; ten Jobs more are worth more than that."""
    assert effect_sentence(make_difference(360, waiting=5.0)) == (
        "Acting harms so far: -0.1 USD against the same world left alone, since the start (1 h)."
    )
    assert effect_sentence(make_difference(360, waiting=5.0, jobs_completed=10.0)).startswith(
        "Acting helps so far: +0.9 USD against"
    )


def test_equal_worlds_and_equal_worth_are_told_apart() -> None:
    """Nothing differs, or what differs weighs up in money."""
    assert effect_sentence(make_difference(360, waiting=0.0)).startswith(
        "No difference: with acting, all has"
    )
    assert "No difference in money: 0 USD" in effect_sentence(
        make_difference(360, waiting=5.0, jobs_completed=1.0)
    )


def test_figures_are_in_the_units_that_people_ask_for() -> None:
    """Requests by their number, waiting over all classes; more is good or bad by the figure."""
    figures = {
        one.name: one
        for one in figures_of(
            make_difference(360, waiting=5.0, requests_served=-0.002, evictions=3.0)
        )
    }
    assert list(figures) == [
        "score", "jobs done", "requests served", "waiting", "evictions and restarts", "energy",
    ]  # fmt: skip
    served, waiting = figures["requests served"], figures["waiting"]
    assert (served.total, served.step, served.total_verdict) == (-2_000.0, -200.0, "no difference")
    assert (waiting.total, waiting.unit, waiting.total_verdict) == (
        5.0,
        "pod-hours",
        "harms",
    )
    assert figures["jobs done"].total_verdict == "no difference"
    assert figures["score"].total_verdict == "harms"
