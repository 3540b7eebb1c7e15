"""A disturbed run may differ from the undisturbed one only where its log says why."""

from __future__ import annotations

from typing import Any

import pytest

from bus.port import StoredMessage
from proofs.simulation.compare import compare
from schemas.envelope import Event
from schemas.outcome import ForecastScore, OutcomeForecast
from schemas.registry import encode
from tests.builders import make_demand, make_risk, stamp_event

RISK = stamp_event(make_risk(cycle=5))
DEMAND = stamp_event(make_demand(cycle=5))
SCORE = ForecastScore(targets=8, uncertain=0)


def _scored(*parts: Event[Any]) -> Event[Any]:
    data = OutcomeForecast(
        cycle=5,
        cluster_time_seconds=85.0,
        observed_cycle=17,
        model_id="seed-formula/1",
        horizon_seconds=60.0,
        risk=SCORE if RISK in parts else None,
        demand=SCORE if DEMAND in parts else None,
    )
    return stamp_event(data, causes=[part.id for part in parts])


def _log(*events: Event[Any]) -> list[StoredMessage]:
    messages = map(encode, events)
    return [
        StoredMessage(seq, seq, one.subject, dict(one.headers), one.data)
        for seq, one in enumerate(messages, 1)
    ]


UNDISTURBED = _log(RISK, DEMAND, _scored(RISK, DEMAND))


def test_equal_logs_have_no_difference() -> None:
    """Equal logs are compared whole and nothing is explained away."""
    comparison = compare(UNDISTURBED, UNDISTURBED)

    assert (3, 0, []) == (comparison.compared, comparison.different, comparison.problems)


@pytest.mark.parametrize("late", [(DEMAND,), ()], ids=["stored too late", "never stored"])
def test_a_score_may_leave_out_what_was_not_predicted_in_time(late: tuple[Event[Any], ...]) -> None:
    """A part that was predicted after its horizon ended, or never, is null in the score: a named reason."""
    comparison = compare(UNDISTURBED, _log(RISK, _scored(RISK), *late))

    assert comparison.problems == (
        [] if late else ["foresail.prediction.demand.v1 of cycle 5 is missing"]
    )
    assert comparison.different == 1


def test_a_score_may_not_leave_out_what_was_predicted_in_time() -> None:
    """A prediction stored before its score has to be scored, and the difference is reported."""
    comparison = compare(UNDISTURBED, _log(RISK, DEMAND, _scored(RISK)))

    assert comparison.problems == [
        "seq 3: foresail.outcome.forecast.v1 of cycle 5 differs and gives no reason"
    ]
