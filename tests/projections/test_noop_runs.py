"""Decisions to do nothing leave the others in sight: a run of them is one line, in the terminal and on the page."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from foresail.stack.live_view import view
from foresail.stack.showing import MOST_SILENT, LinePrinter
from projections.cycle_record import CycleRecord, CycleRecords
from projections.measure_names import measure_name
from projections.overview import Overview
from schemas.actions import ActionKind
from schemas.decision import Override
from schemas.envelope import Event
from schemas.outcome import ExecutionPhase
from schemas.reasons import Reason
from services.dashboard.cycle_json import cycle_json, decision_rows
from tests.builders import (
    make_considered,
    make_decision,
    make_execution,
    make_observation,
    make_proposal,
    stamp_event,
)


def noop(
    cycle: int, why: str = "0 of 12 Services violate their objective", repeats: int = 1
) -> list[Event[Any]]:
    """Return a cycle in which nobody wants anything, as the log has it."""
    proposals = [
        stamp_event(
            make_proposal(agent, cycle=cycle, text=why if agent == "safety" else "no pod waits")
        )
        for agent in ("safety", "admission")
    ]
    decision = make_decision(
        proposals[0].data.action,
        cycle=cycle,
        considered=[make_considered(one) for one in proposals],
        selected=proposals[0].id,
        rule="all_noop",
        rationale="Referee:noop: all agents proposed noop: AgentA:noop (...), AgentC:noop (...)",
        overridden={"admission": _lost()},
        repeat_count=max(1, repeats),
    )
    answer = make_execution(
        decision.action,
        cycle=cycle,
        phase=ExecutionPhase.REFUSED,
        succeeded=None,
        reason=Reason.NOOP,
    )
    return [*proposals, stamp_event(decision), stamp_event(answer)]


def replicate(cycle: int) -> list[Event[Any]]:
    """Return a cycle in which something is done."""
    proposal = stamp_event(
        make_proposal("safety", ActionKind.REPLICATE, cycle=cycle, target="node-1")
    )
    decision = make_decision(
        proposal.data.action,
        cycle=cycle,
        considered=[make_considered(proposal)],
        selected=proposal.id,
    )
    answer = make_execution(decision.action, cycle=cycle, phase=ExecutionPhase.FINISHED)
    return [proposal, stamp_event(decision), stamp_event(answer)]


def _lost() -> Any:

    return Override(rule="all_noop", by="safety", text="AgentC:noop lost to AgentA:noop")


def lines_of(*cycles: list[Event[Any]]) -> list[str]:
    """Return what a terminal that is no screen shows."""
    lines: list[str] = []
    printer = LinePrinter(lines.append)
    for event in (event for cycle in cycles for event in cycle):
        printer(event)
    printer.flush()
    return [" ".join(line.split()) for line in lines if not line.startswith("mode")]


def record_of(cycle: int, events: list[Event[Any]]) -> CycleRecord:
    """Return a cycle's record."""
    record = CycleRecord(cycle)
    for event in events:
        record = record.after(event)
    return record


def test_a_run_is_two_lines_in_the_terminal() -> None:
    """The first at once, the rest with their count when something else happens, and no word of 300 characters."""
    lines = lines_of(*(noop(cycle) for cycle in range(1, 6)), replicate(6), noop(7, "1 of 12"))
    assert lines[0] == "cycle 1 nothing to do: 0 of 12 Services violate their objective"
    assert lines[1] == (
        "cycles 2 to 5 nothing to do, 4 times; the last time: 0 of 12 Services violate their objective"
    )
    assert lines[2].startswith("cycle 6 ")
    assert lines[3:] == ["cycle 7 nothing to do: 1 of 12"]


def test_a_long_run_says_that_it_goes_on() -> None:
    """A file that somebody follows does not stand still for hours."""
    lines = lines_of(*(noop(cycle) for cycle in range(1, MOST_SILENT + 4)))
    assert f"nothing to do, {MOST_SILENT} times" in lines[1]
    assert len(lines) == 4


def test_a_run_is_one_row_on_the_page() -> None:
    """What was done stays in sight, however much nothing surrounds it."""
    cycles = {cycle: replicate(cycle) if cycle == 3 else noop(cycle) for cycle in range(1, 60)}
    records = [record_of(cycle, events) for cycle, events in reversed(cycles.items())]
    rows = list(decision_rows(records))
    assert [(row["first"], row["cycle"], row["count"]) for row in rows] == [
        (4, 59, 56),
        (3, 3, 1),
        (1, 2, 2),
    ]
    assert [row["noop"] for row in rows] == [
        "0 of 12 Services violate their objective",
        None,
        "0 of 12 Services violate their objective",
    ]


def test_what_was_done_is_kept_through_any_number_of_cycles_of_nothing() -> None:
    """Only the newest cycles are held, and of older ones those that acted; the run says how long it is all the same."""
    records = CycleRecords(limit=5, acting=2)
    for cycle in range(1, 60):
        acts = cycle in {3, 7, 20}
        events = replicate(cycle) if acts else noop(cycle, repeats=cycle - 20)
        for event in events:
            records = records.after(event)
    assert list(records.by_cycle) == [7, 20, 55, 56, 57, 58, 59]
    rows = list(decision_rows(reversed(records.by_cycle.values())))
    assert [(row["first"], row["cycle"], row["count"]) for row in rows] == [
        (21, 59, 39),
        (20, 20, 1),
        (7, 7, 1),
    ]


def test_nobody_wins_or_loses_by_doing_nothing() -> None:
    """Neither `A won` nor `lost to A` stands beside agents that agree."""
    events = noop(1)
    content: Any = cycle_json(record_of(1, events))
    assert [(one["verdict"], one["override"]) for one in content["agents"]] == [("waits", None)] * 2
    assert content["rationale"] == "0 of 12 Services violate their objective"
    assert "over" not in events[2].data.line()


def test_a_winner_does_not_lose_to_itself() -> None:
    """Of two actions of one agent the first wins; the other comes after it, and neither is `A, lost to A`."""
    first, second = (
        stamp_event(make_proposal("safety", ActionKind.REPLICATE, target=f"node-{number}"))
        for number in (1, 2)
    )
    decision = make_decision(
        first.data.action,
        considered=[
            make_considered(first),
            make_considered(second).model_copy(update={"id": "another"}),
        ],
        selected=first.id,
        overridden={"safety": _lost()},
    )
    content: Any = cycle_json(record_of(1, [first, second, stamp_event(decision)]))
    won, lost = content["agents"]
    assert (won["verdict"], won["override"]) == ("won", None)
    assert (lost["verdict"], lost["override"]["by_itself"]) == ("lost", True)


def test_pods_and_services_have_words_of_their_own() -> None:
    """What observations call `sla_violations` counts pods; on every screen it says so."""
    event = stamp_event(make_observation(totals={"sla_violations": 3}))
    assert "unhealthy pods 3" in event.data.line()
    console = Console(width=200, file=StringIO())
    with console.capture() as printed:
        console.print(view(Overview().after(event), [], 0, "Foresail", {}))
    assert "unhealthy pods 3" in printed.get()
    assert (measure_name("sla_violations"), measure_name("risk_ratio")) == (
        "unhealthy pods",
        "risk",
    )
