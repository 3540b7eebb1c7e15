"""A decision of several parts: every reader takes all of them, and old decisions have exactly one."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from rich.console import Console

from bus.port import StoredMessage
from bus.recording import open_recording
from foresail.explanation import screen
from foresail.stack.showing import LinePrinter
from foresail.tap_filter import TapFilter
from lab.rerun.what_if import change_between, class_of, decision_text
from projections.cycle_record import CycleRecord
from projections.event_condition import condition
from projections.log_audit import Auditor
from projections.policy_totals import PolicyTotals
from projections.run_totals import RunTotals
from projections.spans import attributes_of_data
from proofs.faults.log_check import check
from proofs.simulation.log_monitor import LogMonitor
from schemas.actions import Action, ActionKind
from schemas.decision import MOST_PARTS, Decision, DecisionPart, decision_line, short_rationale
from schemas.envelope import Event
from schemas.outcome import ExecutionPhase
from schemas.reasons import Reason
from schemas.registry import decode, encode
from schemas.upcast import decision_of_parts
from services.dashboard.cycle_json import cycle_json, decision_row
from services.executor.settings import ExecutorSettings
from services.referee.state import LastDecision
from tests.builders import (
    ORIGIN,
    make_action,
    make_considered,
    make_decision,
    make_execution,
    make_observation,
    make_proposal,
    make_verification,
    stamp_event,
)

GOLDEN = Path(__file__).parents[1] / "golden"
MIGRATE = make_action("safety", ActionKind.MIGRATE, "n1")
SLEEP = make_action("efficiency", ActionKind.POWER_STATE, "n2", power_state="sleep")
WAKE = make_action("efficiency", ActionKind.POWER_STATE, "n2", power_state="on")
QUEUE = make_action("admission", ActionKind.ADMISSION, admission="queue")
PROPOSALS = [
    stamp_event(
        make_proposal(
            str(action.agent),
            action.kind,
            target=action.target.name,
            parameters=action.parameters,
        )
    )
    for action in (MIGRATE, QUEUE, SLEEP)
]


def decision(*actions: Action, cycle: int = 1) -> Decision:
    """Return a decision that takes two of three proposals; C's loses."""
    parts = tuple(
        DecisionPart(action=event.data.action, selected=event.id, score=0.5)
        for event in (PROPOSALS[0], PROPOSALS[2])
    )
    if actions:
        parts = tuple(DecisionPart(action=action, selected=None, score=0.5) for action in actions)
    considered = [make_considered(event) for event in PROPOSALS]
    override = {"rule": "fixed_order", "by": "safety", "text": "lost"}
    return make_decision(
        cycle=cycle, parts=parts, considered=considered, overridden={"admission": override}
    )


def test_an_old_decision_has_exactly_one_part() -> None:
    """Version 1 is read as version 2 with its own action, and nothing of it is lost."""
    old = next(
        message
        for message in open_recording(GOLDEN / "v1.fslog")
        if message.subject.endswith(".decision")
    )
    content = json.loads(old.data)
    data = decode(old.subject, old.headers, old.data).data

    assert isinstance(data, Decision)
    (part,) = data.model_dump(mode="json")["parts"]
    expected = {name: content.pop(name) for name in ("action", "selected", "score")}
    assert part["action"]["parameters"].pop("replicas", None) is None
    expected["action"]["parameters"].pop("replicas", None)
    assert part.pop("effect") is None
    assert part == expected
    rest = data.model_dump(mode="json", exclude={"parts", "considered"})
    assert {name: value for name, value in content.items() if name != "considered"} == rest
    assert [one.id for one in data.considered] == [one["id"] for one in content["considered"]]


def test_a_decision_that_lacks_a_field_of_old_is_no_event() -> None:
    """The upcaster invents nothing."""
    with pytest.raises(KeyError, match="selected"):
        decision_of_parts({"action": {}, "score": 0.5})


@pytest.mark.parametrize("count", [0, MOST_PARTS + 1])
def test_a_decision_has_one_part_at_least_and_a_few_at_most(count: int) -> None:
    """Nothing decided is a noop; more than the guard rails let happen is a mistake."""
    with pytest.raises(ValidationError, match="parts"):
        decision(*[SLEEP] * count) if count else make_decision(parts=())


def test_all_parts_are_counted() -> None:
    """Actions, wins and churn by part; a decision stays one decision, and its winners lost nothing."""
    totals = PolicyTotals(window_seconds=600.0)
    totals.add(decision())
    totals.add(decision(MIGRATE, WAKE, cycle=2))

    assert (totals.decisions, totals.wanted, totals.churn) == (2, 2, 1)
    assert totals.actions.total() == 4
    assert totals.wins == {"AgentA": 2, "AgentB": 2}
    assert totals.rejected["admission"] == 2
    assert totals.rejected["safety"] == 1  # of the second, which selects no proposal


def test_no_selected_proposal_is_lost_or_loses() -> None:
    """The audit, the run's totals, a line of text and the page agree on who won."""
    auditor, run = Auditor(), RunTotals()
    observed = stamp_event(make_observation(3))
    events = [observed, *PROPOSALS, stamp_event(decision())]
    for event in events:
        auditor.add(event)
        run.add(event)

    audit = auditor.finish(layers=False)
    assert (audit.proposals["selected"], audit.proposals["overridden"]) == (2, 1)
    assert not [problem for problem in audit.problems if "silently" in problem]
    assert run.summary()["proposals"]["selected"] == 2
    assert decision_line(decision()).endswith("; over C admission")
    verdicts = {one["agent"]: one["verdict"] for one in record_json()["agents"]}
    assert verdicts == {"safety": "won", "admission": "lost", "efficiency": "won"}


def test_actions_alike_are_told_once() -> None:
    """Ten machines that sleep are one line that can be read; three are told one by one."""
    won = [
        f"AgentB:power_state:sleep on n{number}: cores free {number} >= 1" for number in range(9)
    ]
    migrated = "AgentA:migrate on n9: drains n9 soon = 1"

    def told(*texts: str) -> str:
        rationale = "; ".join((*texts, "it gains most"))
        return short_rationale(decision().model_copy(update={"rationale": rationale}))

    assert told(*won, migrated) == (
        f"{won[0]}; and on 8 more (n1, n2, n3, ...); {migrated}; it gains most"
    )
    assert told(*won[:3]) == "; ".join((*won[:3], "it gains most"))
    line = decision_line(decision(), ["done (active, 1 operation)"] * 3 + ["not executed (cap)"])
    assert line.endswith("; 3 times done (active, 1 operation); not executed (cap)")


def record() -> CycleRecord:
    """Return the record of the cycle."""
    after = CycleRecord(1)
    for event in (*PROPOSALS, stamp_event(decision())):
        after = after.after(event)
    return after


def record_json() -> Any:
    """Return the cycle as the page gets it."""
    return cycle_json(record())


def test_the_page_and_the_screen_show_every_part() -> None:
    """The first part where it always was, all of them beside it."""
    content, row = record_json(), decision_row(record())

    assert row is not None
    assert [part["label"] for part in content["parts"]] == [
        "AgentA:migrate",
        "AgentB:power_state:sleep",
    ]
    assert content["action"]["label"] == "AgentA:migrate"
    assert (row["label"], [one["target"] for one in row["more"]]) == ("AgentA:migrate", ["n2"])
    console = Console(width=120, record=True, file=StringIO())
    console.print(screen(record()))
    text = console.export_text()
    assert "AgentA:migrate n1; AgentB:power_state:sleep n2" in text
    assert text.count("WINS") == 2


def test_decisions_are_the_same_when_all_their_parts_are() -> None:
    """A second part that is another, or gone, is a change; without any wish it appears or vanishes."""
    other, fewer, none = decision(MIGRATE, WAKE), decision(MIGRATE), decision(make_action())

    assert class_of(decision(), decision(MIGRATE, SLEEP)) == "same"
    assert [class_of(decision(), one) for one in (other, fewer, none)] == [
        "changed",
        "changed",
        "vanished",
    ]
    assert class_of(none, decision()) == "appeared"
    assert change_between(7, decision(), decision(MIGRATE, SLEEP)) is None
    assert decision_text(decision()) == "AgentA:migrate on n1, AgentB:power_state:sleep on n2"


def test_a_tap_finds_a_decision_by_any_part() -> None:
    """By agent and node of every part; an expression may name a field of the first as before."""
    event = stamp_event(decision())
    shown = [TapFilter(agent="efficiency"), TapFilter(node="n2"), TapFilter(agent="safety")]
    shown += [TapFilter(where=condition("action.kind == 'migrate'", [Decision]))]
    hidden = [TapFilter(agent="admission"), TapFilter(node="n3")]
    hidden += [TapFilter(where=condition("score > 0.5", [Decision]))]

    assert [one.text(event) is not None for one in shown] == [True] * 4
    assert [one.text(event) is not None for one in hidden] == [False] * 3


def test_a_span_names_every_action() -> None:
    """Kind and target of each part, in order; the score is the first part's."""
    encoded = encode(stamp_event(decision()))
    message = StoredMessage(1, 1, encoded.subject, encoded.headers, encoded.data)
    described, _ = attributes_of_data(message)

    assert described["foresail.action"] == "migrate, power_state"
    assert described["foresail.target"] == "n1, n2"
    assert described["foresail.score"] == 0.5


def test_a_checkpoint_from_before_there_were_parts_is_read() -> None:
    """The row of equal decisions goes on over an upgrade."""
    action = MIGRATE.model_dump(mode="json")

    last = LastDecision.model_validate({"action": action, "repeat_count": 3})

    assert (last.actions, last.repeat_count) == ((MIGRATE,), 3)


def followed(part: int, phase: ExecutionPhase, **fields: Any) -> Event[Any]:
    """Return an event about the execution of a part."""
    return stamp_event(make_execution(SLEEP if part else MIGRATE, phase=phase, part=part, **fields))


def test_a_cycle_without_anything_to_do_is_not_called_refused() -> None:
    """The executor's answer to a noop is a refusal by its phase; people read what it means."""
    noop = followed(0, ExecutionPhase.REFUSED, succeeded=None, reason=Reason.NOOP)

    assert record().after(noop).result == "nothing_to_do"
    assert noop.data.result == "nothing to do"


def test_a_cycle_is_executed_when_every_part_is() -> None:
    """Outcome of it names each part's end, and later parts do not hide the first one's."""
    open_record = record().after(followed(0, ExecutionPhase.FINISHED))
    refused = followed(1, ExecutionPhase.REFUSED, succeeded=None, reason=Reason.COOL_DOWN)
    done = open_record.after(refused)
    verified = done.after(stamp_event(make_verification(part=0)))

    assert (open_record.executed, done.executed) == (False, True)
    assert (done.result, verified.result) == ("executed, refused", "verified, refused")
    content: Any = cycle_json(verified)
    assert [part["execution"]["phase"] for part in content["parts"]] == ["finished", "refused"]
    assert content["execution"] == content["parts"][0]["execution"]
    assert content["parts"][1]["verification"] is None
    console = Console(width=120, record=True, file=StringIO())
    console.print(screen(verified))
    text = console.export_text()
    assert text.index("PART 0") < text.index("VERIFIED") < text.index("PART 1")
    assert "refused [cool_down]" in text[text.index("PART 1") :]


def test_a_line_is_printed_once_every_part_was_answered(capsys: pytest.CaptureFixture[str]) -> None:
    """A terminal shows one line for a decision, with what became of each part."""
    take = LinePrinter(print)
    take(stamp_event(decision()))
    take(followed(0, ExecutionPhase.FINISHED))
    assert "cycle" not in capsys.readouterr().out
    take(followed(1, ExecutionPhase.REFUSED, succeeded=None, reason=Reason.COOL_DOWN))

    text = " ".join(capsys.readouterr().out.split())
    assert "done (active, 0 operations); not executed (cool_down)" in text


def test_events_name_their_part() -> None:
    """Lines and spans of later parts say which; first parts look as they always did."""
    first, second = followed(0, ExecutionPhase.FINISHED), followed(1, ExecutionPhase.FINISHED)

    assert first.data.line().startswith("cycle 1: ")
    assert second.data.line().startswith("cycle 1.1: ")
    encoded = encode(second)
    message = StoredMessage(1, 1, encoded.subject, encoded.headers, encoded.data)
    assert attributes_of_data(message)[0]["foresail.part"] == 1


def test_a_log_in_which_a_part_has_no_outcome_is_noticed() -> None:
    """Both the proof's reader of a log and the simulation's monitor look at parts."""
    events = [stamp_event(decision()), followed(0, ExecutionPhase.REFUSED, succeeded=None)]
    messages = [
        StoredMessage(number, number, one.subject, one.headers, one.data)
        for number, one in enumerate(map(encode, events), start=1)
    ]
    problems = [str(one) for one in check(messages, open_cycles=0).problems]

    assert any("no outcome of part 1" in problem for problem in problems)


def test_the_monitor_sees_parts_that_touch_the_same_thing() -> None:
    """Whatever the executor's own guard said."""
    monitor = LogMonitor(ORIGIN, ExecutorSettings(cool_down_seconds=0.0), 1)
    for part in (0, 1):
        event = stamp_event(
            make_execution(
                make_action("safety", ActionKind.MIGRATE, f"n{part}"),
                phase=ExecutionPhase.STARTED,
                part=part,
                workloads=("shop/Deployment/web",),
            )
        )
        encoded = encode(event)
        monitor.on_stored(
            StoredMessage(part + 1, 1, encoded.subject, encoded.headers, encoded.data)
        )

    assert any("what part 0 has touched" in problem for problem in monitor.problems)
