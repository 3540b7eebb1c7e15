"""A stranger's task: a new guard is one file, and the guards that there are keep their order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bus.errors import ConfigError
from schemas.actions import ActionKind
from schemas.outcome import Operation, OutcomeExecution, Verb
from schemas.reasons import Reason
from services.executor.guards import (
    Guard,
    Needs,
    Question,
    Write,
    ask_guards,
    check_guards,
    registered_guards,
)
from services.executor.ledger import ClusterSummary, Ledger, PendingDecision
from services.executor.settings import ExecutorSettings
from tests.builders import make_action
from tests.executor.example_guard import files_added
from tests.explain.theatre import Theatre

FOLDER = "services/executor/guards"
ORDER = {
    Needs.LOG: ("replay", "taken_back", "kill_switch", "stale_decision", "switchback"),
    Needs.REACH: (
        "system_pods",
        "control_plane",
        "do_not_disrupt",
        "named_namespaces",
        "named_nodes",
        "field_owner",
        "empty_machine",
    ),
    Needs.PLAN: (
        "unready_nodes",
        "settling",
        "switchback_namespaces",
        "breaker",
        "earlier_part",
        "cool_down",
        "cool_down_after_failure",
        "cap_per_node",
        "cap_per_namespace",
        "cap_per_workload",
        "cap_surge_ratio",
        "cap_surge_pods",
        "budget",
        "ping_pong",
        "last_ready_nodes",
    ),
}

SILENT = {
    "taken_back",
    "switchback",
    "switchback_namespaces",
    "breaker",
    "earlier_part",
    "cap_surge_ratio",
    "cap_surge_pods",
    "unready_nodes",
    "settling",
    "empty_machine",
}
"""Guards that have nothing to say of a usual run, so that nothing of them is in its log."""


def question() -> Question:
    """Return a question about a sleep in an otherwise idle cluster."""
    due = PendingDecision(
        cycle=1,
        decision_id="d",
        observation_id="o",
        action=make_action(kind=ActionKind.POWER_STATE, target="node-0"),
        score=0.5,
        cluster_time_seconds=0.0,
    )
    summary = ClusterSummary(cycle=1, nodes=3, nodes_available=3)
    return Question(due, Ledger(seen=summary, due=(due,)), ExecutorSettings(), 0.0)


@pytest.mark.parametrize("needs", Needs)
def test_guards_are_asked_in_the_order_they_declare(needs: Needs) -> None:
    """The order decides whose reason a refusal gives; each answers under the name it declares."""
    declared = tuple(
        registered_guard.name
        for registered_guard in registered_guards()
        if registered_guard.needs is needs
    )

    assert declared == ORDER[needs]
    asked = tuple(check.guard for check in ask_guards(needs, question()))
    assert asked == tuple(name for name in declared if name not in SILENT)


def test_before_each_write_those_are_asked_that_look_at_what_may_have_changed() -> None:
    """The operator's word, the age of the decision, and what the write touches; budgets and caps counted the plan."""
    operation = Operation(verb=Verb.PATCH, resource="nodes", name="node-0", text="")
    before_write = replace(question(), write=Write(operation, takes_back=False))

    again = {guard.name for guard in registered_guards() if guard.each_write}
    assert again == {"kill_switch", "stale_decision", *ORDER[Needs.REACH]}
    answers = [check.guard for needs in Needs for check in ask_guards(needs, before_write)]
    assert answers == ["kill_switch", "stale_decision", *ORDER[Needs.REACH][:-1]]


def test_a_new_file_is_asked_at_its_place() -> None:
    """Nothing but the file is added, and it comes between the two whose numbers enclose its own."""
    with files_added():
        answers = ask_guards(Needs.LOG, question())

    assert [answer.guard for answer in answers] == [
        "replay",
        "kill_switch",
        "warm_up",
        "stale_decision",
    ]
    assert (answers[2].passed, answers[2].measured, answers[2].limit) == (False, 1, 3)


async def test_a_new_guard_refuses_and_is_explained() -> None:
    """Its refusal is in the log with what it measured, and on the screen of `explain`; a cycle that it
    lets pass is executed.
    """
    theatre = Theatre()
    with files_added():
        await theatre.order("safety", ActionKind.REPLICATE, "node-0")
        refused = theatre.cycle
        await theatre.order("safety", ActionKind.DVFS, "node-0", clock_scale_ratio=0.8)
        await theatre.order("safety", ActionKind.DVFS, "node-1", clock_scale_ratio=0.8)

    outcomes = {
        event.cycle: event.data
        for event in theatre.events
        if isinstance(event.data, OutcomeExecution)
    }
    assert outcomes[refused].reason is Reason.GUARD_REFUSED
    assert "warm_up" in theatre.screen(refused)
    assert "cycle 1 is too early" in theatre.screen(refused)
    assert outcomes[theatre.cycle].succeeded


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", f"{FOLDER}/odd.py: GUARDS = None: set it to a tuple of Guard"),
        ("GUARDS = ()", f"{FOLDER}/odd.py: GUARDS = (): set it to a tuple of Guard"),
        (
            "from services.executor.guards.budget import GUARDS",
            f"{FOLDER}/odd.py: name = budget: another guard has it already",
        ),
    ],
)
def test_a_file_that_declares_no_usable_guard_stops_the_executor(
    text: str, line: str, tmp_path: Path
) -> None:
    """One line names the file, the field and what to do; no guard is silently left out."""
    (tmp_path / "odd.py").write_text(text, encoding="utf-8")

    with files_added(tmp_path), pytest.raises(ConfigError) as raised:
        registered_guards()

    assert str(raised.value) == line


def test_two_guards_never_share_a_place() -> None:
    """With equal numbers the names of files would decide whose reason a refusal gives."""
    first = registered_guards()[0]
    other = Guard("other", first.needs, first.order, first.check)

    with pytest.raises(ConfigError, match="replay has it already in LOG"):
        check_guards([("replay", (first,)), ("other", (other,))])
