"""A rule may name several winners: they win in order, as far as no two touch the same thing."""

from __future__ import annotations

from typing import Any

from schemas.actions import ActionKind, AgentName
from schemas.decision import MOST_PARTS, ClosedBy, RefereeRule
from services.referee.open_proposal import OpenProposal, highest_score, open_proposal_of
from services.referee.rule import Candidates, Choice, Rule
from services.referee.ruling import Ruling, rule_on
from services.referee.service import decision_of
from services.referee.state import LastDecision, PendingCycle
from tests.builders import make_proposal, stamp_event

A, B, C = "safety", "efficiency", "admission"


def _choose_all(candidates: Candidates) -> Choice | None:
    """Choose everybody, the highest score first."""
    ordered = sorted(candidates, key=lambda candidate: -candidate.considered.score)
    return Choice(highest_score(candidates), more=tuple(ordered[1:]))


EVERYBODY = Rule(RefereeRule.FIXED_ORDER, "everybody wins", _choose_all)


def candidate(agent: AgentName, kind: ActionKind, target: str = "", **fields: Any) -> OpenProposal:
    """Return a proposal as the referee holds it."""
    return open_proposal_of(stamp_event(make_proposal(agent, kind, target=target, **fields)))


MIGRATE = candidate(A, ActionKind.MIGRATE, "n1", score=0.9)
SLEEP = candidate(B, ActionKind.POWER_STATE, "n2", score=0.8, parameters={"power_state": "sleep"})
QUEUE = candidate(C, ActionKind.ADMISSION, score=0.7, parameters={"admission": "queue"})
SLOWER = candidate(B, ActionKind.DVFS, "n1", score=0.95, parameters={"clock_scale_ratio": 0.5})
NOTHING = candidate(B, ActionKind.NOOP, score=1.0)


def ruling(*candidates: OpenProposal) -> Ruling:
    """Return the ruling of the rule by which everybody wins."""
    return rule_on(candidates, rules=(EVERYBODY,))


def test_winners_that_touch_nothing_in_common_all_win_in_order() -> None:
    """Node, another node and the queue: three parts, and nobody is overridden."""
    found = ruling(QUEUE, SLEEP, MIGRATE)

    expected = [
        (one.action, one.considered.id, one.considered.score) for one in (MIGRATE, SLEEP, QUEUE)
    ]
    assert [(part.action, part.selected, part.score) for part in found.parts] == expected
    assert found.overridden == {}
    names = [found.rationale.index(one.name) for one in (MIGRATE, SLEEP, QUEUE)]
    assert names == sorted(names)
    assert found.rationale.endswith("; everybody wins")


def test_who_touches_the_same_thing_loses_to_who_came_first() -> None:
    """The override names the winner in its way, not simply the first one."""
    high = candidate(C, ActionKind.ADMISSION, score=0.99, parameters={"admission": "queue"})
    found = ruling(MIGRATE, SLOWER, high)

    assert [part.selected for part in found.parts] == [high.considered.id, SLOWER.considered.id]
    lost = found.overridden[A]
    assert (lost.by, lost.winner_score, lost.loser_score) == (B, 0.95, 0.9)
    assert f"lost to {SLOWER.name}" in lost.text


def test_two_workloads_exclude_one_another_only_when_they_are_one() -> None:
    """A target is its kind and its name."""
    assert MIGRATE.touches(SLOWER)
    assert not MIGRATE.touches(SLEEP)
    assert QUEUE.touches(candidate(C, ActionKind.ADMISSION, parameters={"admission": "reject"}))


def test_a_noop_stands_alone_and_is_no_further_part() -> None:
    """Whether it comes first or later."""
    first, later = (
        ruling(NOTHING, MIGRATE),
        ruling(
            MIGRATE,
            NOTHING.model_copy(
                update={"considered": NOTHING.considered.model_copy(update={"score": 0.1})}
            ),
        ),
    )

    assert [part.action.kind for part in first.parts] == [ActionKind.NOOP]
    assert set(first.overridden) == {A}
    assert [part.action for part in later.parts] == [MIGRATE.action]
    assert set(later.overridden) == {B}


def test_a_decision_holds_no_more_parts_than_it_may() -> None:
    """The best of too many."""
    many = [
        candidate(f"agent_{number}", ActionKind.MIGRATE, f"n{number}", score=number / 100)
        for number in range(MOST_PARTS + 3)
    ]
    found = ruling(*many)

    assert len(found.parts) == MOST_PARTS
    assert set(found.overridden) == {"agent_0", "agent_1", "agent_2"}


def test_a_row_of_equal_decisions_compares_all_parts() -> None:
    """The same two actions twice are a row; the same first one with another second is none."""
    cycle = PendingCycle(
        cycle=1,
        observation_id="o",
        cluster_time_seconds=0.0,
        expected=(A, B),
        proposals=(MIGRATE, SLEEP),
    )
    last = None
    repeats = []
    for proposals in ((MIGRATE, SLEEP), (MIGRATE, SLEEP), (MIGRATE, QUEUE)):
        pending = cycle.model_copy(update={"proposals": proposals})
        data = decision_of(pending, ClosedBy.ALL, last, (EVERYBODY,))
        last = LastDecision(actions=data.actions, repeat_count=data.repeat_count)
        repeats.append((len(data.parts), data.repeat_count))

    assert repeats == [(2, 1), (2, 2), (2, 1)]
