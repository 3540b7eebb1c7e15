"""Traffic: what its text means, and that bad text is refused with a remedy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from twin.serving.draws import draw_key, poisson_times, uniforms
from twin.serving.service_time import ServiceTime
from twin.traffic import Daily, Recorded, read_traffic, recorded_text

START = 1_767_225_600.0


def _no_draw(number: int) -> float:
    raise AssertionError(f"draw {number} was not expected")


@pytest.mark.parametrize(
    ("text", "begin", "end", "expected"),
    [
        ("constant requests_per_second=20", 0, 15, 300.0),
        ("daily low=0 high=100", 0, 86_400, 50.0 * 86_400),
        ("daily low=10 high=10 peak_hour=3", 100, 160, 600.0),
        ("recorded rates=0:10,60:20", 30, 90, 300.0 + 600.0),
        ("recorded rates=0:10,60:20", 600, 660, 1_200.0),
        ("recorded rates=0:10,60:20 repeat_seconds=120", 90, 150, 600.0 + 300.0),
        ("bursts base=10 burst=110 every_seconds=100 last_seconds=20", 0, 100, 1_000.0 + 2_000.0),
    ],
)
def test_requests_between_two_times(text: str, begin: float, end: float, expected: float) -> None:
    """Each kind gives the integral of its rate, however the time is cut into intervals."""
    traffic = read_traffic(text)
    middle = begin + (end - begin) * 0.3

    def draw(number: int) -> float:
        return 0.25 if number == 0 else 0.5

    whole = traffic.requests(START + begin, START + end, START, draw)
    parts = traffic.requests(START + begin, START + middle, START, draw)
    parts += traffic.requests(START + middle, START + end, START, draw)
    assert whole == pytest.approx(expected)
    assert parts == pytest.approx(expected)


def test_day_is_highest_at_its_hour() -> None:
    """A daily curve has its highest rate at the peak hour and its lowest twelve hours away."""
    traffic = Daily(50.0, 400.0, 14.0)
    at = [traffic.requests(START + hour * 3_600 - 0.5, START + hour * 3_600 + 0.5, START, _no_draw)
          for hour in range(24)]  # fmt: skip
    assert at[14] == pytest.approx(400.0, rel=1e-6)
    assert at[2] == pytest.approx(50.0, rel=1e-6)
    assert max(at) == at[14]


def test_recorded_rate_survives_its_text() -> None:
    """A recorded rate that is written as an annotation and read again is the same."""
    traffic = read_traffic("recorded rates=0:10,60:20.5,90:0 repeat_seconds=120")
    assert isinstance(traffic, Recorded)
    assert read_traffic(recorded_text(traffic)) == traffic
    assert not math.isinf(traffic.repeat_seconds)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("", "give one of constant"),
        ("steady requests_per_second=3", "give one of constant"),
        ("constant", "constant requests_per_second=NUMBER"),
        ("constant requests_per_second=-3", "a number of 0 or more"),
        ("constant requests_per_second=nan", "a number of 0 or more"),
        ("constant requests_per_second=1e9", "give at most"),
        ("constant rate=3", "it takes requests_per_second"),
        ("daily low=1 high=2 peak_hour=24", "an hour from 0 to below 24"),
        ("bursts base=1 burst=2 every_seconds=10 last_seconds=20", "bursts that end"),
        ("bursts base=1 burst=2 every_seconds=0.1 last_seconds=20", "at least 1 second"),
        ("recorded rates=10:1", "begin with time 0"),
        ("recorded rates=0:1,5:2,5:3", "times that rise"),
        ("recorded rates=0:1,5:2 repeat_seconds=5", "give more than 5"),
        ("recorded rates=0:1;5:2", "a number of 0 or more"),
    ],
)
def test_bad_text_is_refused_with_a_remedy(text: str, remedy: str) -> None:
    """A text that means nothing is refused with a sentence that says what to give."""
    with pytest.raises(ValueError, match=remedy):
        read_traffic(text)


def test_draws_are_those_of_a_poisson_process() -> None:
    """Numbers of drawn arrivals have the mean and the variance of Poisson's distribution, and each is
    within its interval.
    """
    rows = [poisson_times(draw_key(1, "arrivals", "pod", number), 10.0, 25.0, 30.0)
            for number in range(4_000)]  # fmt: skip
    counts = np.array([len(row) for row in rows])
    assert counts.mean() == pytest.approx(30.0, rel=0.02)
    assert counts.var() == pytest.approx(30.0, rel=0.08)
    assert all(10.0 < row[0] and row[-1] < 25.0 for row in rows)


@pytest.mark.parametrize("cv", [0.5, 1.0, 2.0])
def test_drawn_work_has_the_mean_and_spread_that_were_asked_for(cv: float) -> None:
    """CPU times drawn from uniform numbers have mean 1 and the coefficient of variation given."""
    quantiles = ServiceTime(cv).quantiles(uniforms(draw_key(5, "work", "pod", 0), 400_000))
    assert quantiles.mean() == pytest.approx(1.0, rel=0.01)
    assert quantiles.std() == pytest.approx(cv, rel=0.01)
