"""Where people read which model of risk drives: explain, status, the terminal and the summary of a run."""

from __future__ import annotations

from typing import Any

from foresail.explanation.inputs import input_sections
from foresail.explanation.outcomes import outcome_sections
from foresail.stack.showing import LinePrinter
from projections.cycle_record import CycleRecord
from projections.overview import Overview
from projections.run_totals import RunTotals
from tests.builders import make_observation, stamp_event
from tests.score_events import make_judgement

DRIVES = "risk is predicted by age-risk/000000000000"


def section(sections: Any, label: str) -> list[str]:
    """Return the lines of one section."""
    return [line.plain for one in sections if one.label == label for line in one.lines]


def test_explain_names_the_judgement_by_which_a_cycle_was_predicted() -> None:
    """That of an earlier cycle; the judgement at this cycle's own observation stands for itself."""
    record = CycleRecord(5).after(stamp_event(make_observation(cycle=5)))
    assert section(input_sections(record), "DRIVES") == []
    earlier = record.after(stamp_event(make_judgement(cycle=3)))
    head, why = section(input_sections(earlier), "DRIVES")
    assert head == DRIVES
    assert "Brier skill +0.17 (+0.04 to +0.3)" in why
    assert "lift 10 (+4 to +16)" in why
    assert section(outcome_sections(earlier), "JUDGED") == []

    own = record.after(stamp_event(make_judgement(cycle=5)))
    assert section(input_sections(own), "DRIVES") == []
    assert section(outcome_sections(own), "JUDGED")[0].startswith(
        f"{DRIVES} from the next observation on"
    )
    assert own.as_json()["judged"]["data"]["driving"] == "age-risk/000000000000"


def test_the_newest_judgement_is_in_the_overview_the_summary_and_the_tail() -> None:
    """Each reader of the log shows the same lines."""
    event = stamp_event(make_judgement())
    overview = Overview().after(event)
    assert overview.models == event.data
    totals = RunTotals()
    totals.add(event)
    assert totals.summary()["models_text"].startswith(DRIVES)
    assert "models_text" not in RunTotals().summary()
    assert event.data.line().startswith(f"cycle 1: {DRIVES}")


def test_a_running_stack_prints_a_change_of_the_driver_and_nothing_else_of_it() -> None:
    """A judgement that changes nothing comes every quarter of an hour and is no news."""
    lines: list[str] = []
    take = LinePrinter(lines.append)
    take(stamp_event(make_judgement(before="age-risk/000000000000")))
    assert lines == []
    take(stamp_event(make_judgement(cycle=2)))
    assert lines[0].startswith(DRIVES)
    assert len(lines) == 2
