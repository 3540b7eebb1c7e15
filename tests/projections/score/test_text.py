"""What people read of the score: by groups, and what acting changed in its own units."""

from __future__ import annotations

import pytest

from foresail.explanation import outcomes
from foresail.explanation.outcomes import outcome_sections
from projections.cycle_record import CycleRecord
from projections.overview import Overview
from projections.run_totals import RunTotals
from projections.score.money import difference_of, score_of
from projections.score.text import window_text
from schemas.actions import ReplicateAction, Target
from schemas.decision import DecisionPart
from schemas.effect import Effect
from schemas.score import OutcomeCounterfactual, difference_text, score_text
from services.agents.calibration import MeasuredRatio
from tests.builders import make_decision, stamp_event
from tests.projections.score.score_builders import PRICES, make_look, tally_of

HOUR = 3_600.0


def difference(*hours: float) -> OutcomeCounterfactual:
    """Return what acting changed when its pods waited so many hours longer, a look an hour."""
    acted = [
        make_look(HOUR * place, waiting_pod_seconds={"none": HOUR * waited})
        for place, waited in enumerate(hours)
    ]
    alone = [make_look(HOUR * place) for place in range(len(hours))]
    return difference_of(tally_of(*acted), tally_of(*alone), PRICES)


def test_the_score_is_shown_by_groups_of_components() -> None:
    """Machines and energy of an hour, and nothing of what was not there."""
    text = score_text(score_of(tally_of(make_look(0.0), make_look(HOUR)), PRICES))
    assert text == (
        "-2.04 USD/h since the start (1 h), -2.04 in this cycle; in all -2.04 USD: machines -1.94, energy -0.10"
    )


def test_what_acting_changed_is_shown_in_its_own_units() -> None:
    """Waiting is named with its class; equal worlds are said to be equal."""
    assert difference_text(difference(0.0, 5.0)) == (
        "-0.1 USD since the start (1 h), -0.1 USD/h (harms): waiting/none +5 pod-hours"
    )
    assert difference_text(difference(0.0, 0.0)) == "nothing since the start (1 h)"


def test_a_window_shows_what_changed_within_it() -> None:
    """Of seven pod-hours two came in the window; in the hour after nothing more was changed."""
    assert window_text(difference(0.0, 5.0), difference(0.0, 5.0, 7.0)) == (
        "-0.04 USD in cycles 3601 to 7200 (1 h): waiting/none +2 pod-hours"
    )
    assert window_text(difference(0.0, 5.0), difference(0.0, 5.0, 5.0)) == (
        "nothing in cycles 3601 to 7200 (1 h)"
    )


def test_explain_says_that_effects_overlap() -> None:
    """A decision's screen has the window in which it settled, and the caveat."""
    record = CycleRecord(3_600).after(stamp_event(make_decision(cycle=3_600)))
    for data in (difference(0.0, 5.0), difference(0.0, 5.0, 7.0)):
        record = record.after(stamp_event(data))
    assert [event.cycle for event in record.events] == [3_600, 3_600]
    shown = {
        section.label: [str(line) for line in section.lines] for section in outcome_sections(record)
    }
    assert shown["SCORE"] == []  # the newest known is of long after the next cycle
    near = difference(0.0, 5.0, 7.0).model_copy(update={"cycle": 3_601})
    shown = {
        section.label: [str(line) for line in section.lines]
        for section in outcome_sections(record.after(stamp_event(near)))
    }
    assert shown["SCORE"] == [
        (
            "acting changed -0.04 USD in cycle 3601 (1 h): waiting/none +2 pod-hours "
            "(by all actions so far: effects overlap)"
        )
    ]


def test_an_expected_effect_is_told_with_its_interval_and_terms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Explain shows of each part what it was expected to change, and what came of others; nothing where thresholds
    decided.
    """
    effect = Effect(
        horizon_seconds=600.0,
        terms={"slo_services": 0.315, "capacity": -0.012},
        net=0.303,
        low=0.22,
        high=0.38,
        per_hour=1.818,
        currency="USD",
    )
    text = (
        "+0.303 USD in 600 s (8 of 10 times +0.22 to +0.38): slo services +0.315, capacity -0.012"
    )
    action = ReplicateAction(target=Target(kind="workload", name="web"), replicas=3)
    measured = MeasuredRatio(0.92, 0.851, 1.02, 61)
    came = "of such expectations 92% came on twin branches (85.1% to 102%, 61 of replicate:more)"
    monkeypatch.setattr(outcomes, "MEASURED", {"replicate:more": measured})
    part = DecisionPart(action=action, selected=None, score=1.818, effect=effect)
    for parts, lines in (
        ((part,), [text, came]),
        ((part.model_copy(update={"effect": None}),), []),
    ):
        decision = make_decision().model_copy(update={"parts": parts})
        record = CycleRecord(1).after(stamp_event(decision))
        shown = {section.label: section.lines for section in outcome_sections(record)}
        assert [str(line) for line in shown["EXPECTED"]] == lines


def test_overview_and_summary_hold_the_newest() -> None:
    """The live view and the summary of a run show the newest of both."""
    score = stamp_event(score_of(tally_of(make_look(0.0), make_look(HOUR)), PRICES))
    newest = stamp_event(difference(0.0, 5.0))
    overview, totals = Overview(), RunTotals()
    for event in (score, stamp_event(difference(0.0, 1.0)), newest):
        overview = overview.after(event)
        totals.add(event)
    assert (overview.score, overview.counterfactual) == (score.data, newest.data)
    summary = totals.summary()
    assert summary["acting_changed_money"] == -0.1
    assert summary["score_text"] in score.data.line()
    assert summary["acting_changed_text"] in newest.data.line()
