"""Every screen says which models of demand are left out: explain, status, the terminal and the summary of a run."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from foresail.explanation.proposals import proposal_sections
from foresail.stack.live_view import view
from foresail.stack.showing import LinePrinter
from projections.cycle_record import CycleRecord
from projections.demotion.text import foresight_standing
from projections.overview import Overview
from projections.run_totals import RunTotals
from schemas.outcome import OutcomeForecast
from tests.builders import make_considered, make_decision, make_proposal, stamp_event
from tests.score_events import make_foresight
from tests.scoreboard.test_raises_ahead import raised

MODEL = "rates-ahead/1"
GONE = f"{MODEL} goes back to shadow from the next observation on"
LEFT_OUT = f"forecasts of demand left out: {MODEL}"


def test_explain_names_the_forecast_that_a_proposal_left_out() -> None:
    """Beside what was left by a draw."""
    proposal = stamp_event(make_proposal(left_out_models=(MODEL,)), seq=2)
    decision = stamp_event(make_decision(considered=(make_considered(proposal),)), seq=3)
    sections = proposal_sections(CycleRecord(1).after(proposal).after(decision))

    (left,) = [section for section in sections if section.label == "LEFT"]
    assert [str(line) for line in left.lines] == [
        f"A safety: forecasts of {MODEL}, which is back in shadow (`foresail status` says why)"
    ]


def test_the_terminal_shows_it() -> None:
    """As long as it lasts; plain lines tell of the change alone."""
    event = stamp_event(make_foresight(shadows=(MODEL,)))
    console = Console(width=400, file=StringIO())
    with console.capture() as printed:
        console.print(view(Overview().after(event), [], 0, "Foresail", {}))
    assert LEFT_OUT in printed.get()
    lines: list[str] = []
    printer = LinePrinter(lines.append)
    printer(event)
    printer(stamp_event(make_foresight(cycle=2, before=(MODEL,), shadows=(MODEL,))))
    assert lines == [GONE, "drives"]
    assert foresight_standing(event.data)[0] == LEFT_OUT


def test_the_summary_of_a_run_says_what_foresight_was_worth() -> None:
    """By model: how often it was right, and that nobody acts on it any more."""
    totals = RunTotals()
    for data in raised(ready_after=120.0).of_part("action"):
        assert isinstance(data, OutcomeForecast)
        totals.add(stamp_event(data))
    right = totals.summary()["foresight_text"]
    assert right.startswith(f"{MODEL} was right in 1 of 1 actions, replicas ready ")
    totals.add(stamp_event(make_foresight(shadows=(MODEL,))))

    assert totals.summary()["foresight_text"] == f"{right}\n{LEFT_OUT}"
