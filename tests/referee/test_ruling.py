"""The ruling: which proposal wins by which rule, and that nobody loses silently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.actions import ActionKind, AgentName, Evidence
from schemas.decision import RefereeRule
from schemas.reasons import Reason
from services.referee.open_proposal import OpenProposal, canonical, open_proposal_of
from services.referee.rules import RULES, example
from services.referee.ruling import rule_on, superseded_ruling
from tests.builders import make_proposal, stamp_event

A, B, C = "safety", "efficiency", "admission"
NOOP = ActionKind.NOOP


def candidate(
    agent: AgentName, kind: ActionKind = NOOP, word: str = "", **fields: Any
) -> OpenProposal:
    """Return a proposal as the referee holds it; `word` is the admission or power state."""
    name = "power_state" if kind is ActionKind.POWER_STATE else "admission"
    parameters = {name: word} if word else {}
    if kind is NOOP:
        fields.setdefault("reason", Reason.NOTHING_TO_DO)
    return open_proposal_of(
        stamp_event(make_proposal(agent, kind, parameters=parameters, **fields))
    )


def blind(agent: AgentName, reason: Reason = Reason.PREDICTION_MISSING) -> OpenProposal:
    """Return the noop of an agent that could not judge."""
    return candidate(agent, reason=reason)


ADMIT = candidate(C, ActionKind.ADMISSION, "admit", score=1.0)
SLEEP = candidate(B, ActionKind.POWER_STATE, "sleep", score=0.99)
REPLICATE = candidate(A, ActionKind.REPLICATE, score=0.6)


@pytest.mark.parametrize(
    ("proposals", "rule", "winner"),
    [
        ((), RefereeRule.NO_PROPOSALS, None),
        ((candidate(A), candidate(B), candidate(C)), RefereeRule.ALL_NOOP, A),
        ((candidate(B), candidate(C)), RefereeRule.ALL_NOOP, C),
        ((candidate(B),), RefereeRule.ALL_NOOP, B),
        *(
            ((candidate(A, kind, score=0.5), SLEEP, ADMIT), RefereeRule.SAFETY_FIRST, A)
            for kind in (ActionKind.REPLICATE, ActionKind.MIGRATE, ActionKind.THROTTLE)
        ),
        (
            (REPLICATE, candidate(C, ActionKind.RESOURCE_CAP, score=1.0)),
            RefereeRule.SAFETY_FIRST,
            A,
        ),
        *(
            (
                (candidate(A), SLEEP, candidate(C, ActionKind.ADMISSION, word, score=0.85)),
                RefereeRule.ADMISSION_PROTECTS,
                C,
            )
            for word in ("queue", "reject", "deprioritize")
        ),
        (
            (candidate(A), SLEEP, candidate(C, ActionKind.RESOURCE_CAP, score=0.1)),
            RefereeRule.ADMISSION_PROTECTS,
            C,
        ),
        *(
            (
                (candidate(A), candidate(B, ActionKind.POWER_STATE, word, score=0.1), ADMIT),
                RefereeRule.EFFICIENCY_BY_SCORE,
                B,
            )
            for word in ("sleep", "off", "on")
        ),
        *(
            ((candidate(A), candidate(B, kind), ADMIT), RefereeRule.EFFICIENCY_BY_SCORE, B)
            for kind in (ActionKind.DVFS, ActionKind.MEMORY_BALLOON)
        ),
        ((candidate(A), candidate(B), ADMIT), RefereeRule.FIXED_ORDER, C),
        ((candidate(B), ADMIT), RefereeRule.FIXED_ORDER, C),
        ((blind(A), SLEEP, ADMIT), RefereeRule.EFFICIENCY_BY_SCORE, B),
        ((blind(A), blind(B), ADMIT), RefereeRule.SAFETY_BLIND, None),
        ((candidate(A), blind(B), ADMIT), RefereeRule.FIXED_ORDER, C),
        ((blind(A), candidate(B, ActionKind.REPLICATE), ADMIT), RefereeRule.FIXED_ORDER, C),
        (
            (blind(A), blind(B), candidate(C, ActionKind.ADMISSION, "queue")),
            RefereeRule.ADMISSION_PROTECTS,
            C,
        ),
    ],
)
def test_rules_are_tried_in_order(
    proposals: Sequence[OpenProposal], rule: RefereeRule, winner: AgentName | None
) -> None:
    """The first rule that applies decides, in the documented order."""
    ruling = rule_on(proposals)

    by_id = {proposal.considered.id: proposal.considered.agent for proposal in proposals}
    assert ruling.rule is rule
    assert (None if ruling.selected is None else by_id[ruling.selected]) is winner


def test_efficiency_is_chosen_by_score_whoever_proposes_it() -> None:
    """Of two efficiency actions the higher score wins, not the fixed order."""
    low = candidate(C, ActionKind.DVFS, score=0.7)
    high = candidate(B, ActionKind.POWER_STATE, "sleep", score=0.8)

    assert rule_on([low, high]).selected == high.considered.id


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_tie_goes_to_the_first_in_canonical_order(order: tuple[int, int]) -> None:
    """Of equal scores the agent that comes first in the fixed order wins, whoever was faster."""
    admission = candidate(C, ActionKind.DVFS, score=0.7)
    efficiency = candidate(B, ActionKind.DVFS, score=0.7)
    tied = (admission, efficiency)

    ruling = rule_on([tied[place] for place in order])

    assert ruling.rule is RefereeRule.EFFICIENCY_BY_SCORE
    assert ruling.selected == admission.considered.id


def test_canonical_order_is_agent_then_score_then_id() -> None:
    """A before C before B; of one agent the higher score first; of equal scores the smaller id."""
    low, high = (candidate(A, ActionKind.THROTTLE, score=score) for score in (0.5, 0.9))
    others = [candidate(B, ActionKind.DVFS, score=1.0), candidate(C, ActionKind.RESOURCE_CAP)]
    twins = [
        open_proposal_of(stamp_event(make_proposal(A, ActionKind.MIGRATE, cycle=cycle, score=0.1)))
        for cycle in (1, 2)
    ]

    actual = canonical([*others, low, *twins, high])

    by_id = sorted(twins, key=lambda twin: twin.considered.id)
    assert actual == (high, low, *by_id, others[1], others[0])


@pytest.mark.parametrize(
    "reason",
    [
        Reason.PREDICTION_MISSING,
        Reason.PREDICTION_SKIPPED,
        Reason.STALE_SIGNAL,
        Reason.MISSING_SIGNAL,
        Reason.SUPERSEDED,
    ],
)
def test_a_blind_safety_agent_turns_a_plain_admit_into_a_noop_that_says_why(reason: Reason) -> None:
    """With inference dead the decision is a noop that names the reason."""
    ruling = rule_on([blind(A, reason), blind(B, reason), ADMIT])

    assert (ruling.parts[0].action.kind, ruling.parts[0].action.agent) == (NOOP, None)
    assert ruling.reason is reason
    assert reason.value in ruling.rationale
    assert sorted(ruling.overridden) == ["admission", "efficiency", "safety"]


def test_all_noop_names_blindness_before_contentment() -> None:
    """If anybody could not look, the reason says that, and not `all_noop`."""
    content = rule_on([candidate(A), candidate(B)])
    blinded = rule_on([candidate(A), blind(B, Reason.STALE_SIGNAL)])

    assert (content.reason, blinded.reason) == (Reason.ALL_NOOP, Reason.STALE_SIGNAL)


def test_the_rationale_gives_action_target_and_numbers() -> None:
    """One sentence: what won, on what, by which numbers, by which rule, and who was missing."""
    step = Evidence(name="risk_ratio", value=0.95, comparison=">=", threshold=0.83, holds=True)
    winner = candidate(
        A, ActionKind.REPLICATE, target="node-7", score=0.95, evidence=(step,), rule=step.words
    )

    ruling = rule_on([winner, SLEEP], missing=(C,))

    assert ruling.rationale == (
        "AgentA:replicate on node-7: risk 0.95 >= 0.83; safety preempts lower priority; "
        "missing: admission"
    )
    lost = ruling.overridden["efficiency"]
    assert lost.text == (
        "AgentB:power_state:sleep on node-0 (efficiency wants power_state; score 0.99, priority 3) "
        "lost to AgentA:replicate on node-7 (score 0.95, priority 1): "
        "safety preempts lower priority"
    )
    assert (lost.rule, lost.by) == (RefereeRule.SAFETY_FIRST, A)
    assert (lost.winner_score, lost.loser_score) == (0.95, 0.99)
    assert (lost.winner_priority, lost.loser_priority) == (1, 3)


def test_a_superseded_cycle_overrides_everything() -> None:
    """What had been proposed for a superseded cycle is listed as overridden, none is selected."""
    ruling = superseded_ruling([REPLICATE, ADMIT])

    assert (ruling.selected, ruling.reason) == (None, Reason.SUPERSEDED)
    assert {decision.rule for decision in ruling.overridden.values()} == {RefereeRule.SUPERSEDED}
    assert sorted(ruling.overridden) == ["admission", "safety"]


def test_the_example_rule_works() -> None:
    """The template applies to a perfect score and to nothing else."""
    assert example.RULE.choose(canonical([REPLICATE])) is None
    chosen = example.RULE.choose(canonical([REPLICATE, ADMIT]))
    assert chosen is not None
    assert chosen.winner == ADMIT


def test_every_rule_has_its_own_name() -> None:
    """A recording can say which rule it was."""
    assert len({rule.name for rule in RULES}) == len(RULES)


KINDS = {
    A: (NOOP, ActionKind.REPLICATE, ActionKind.MIGRATE, ActionKind.THROTTLE),
    B: (NOOP, ActionKind.POWER_STATE, ActionKind.DVFS, ActionKind.MEMORY_BALLOON),
    C: (NOOP, ActionKind.ADMISSION, ActionKind.RESOURCE_CAP),
}
WORDS = {
    ActionKind.ADMISSION: ("admit", "queue", "deprioritize", "reject"),
    ActionKind.POWER_STATE: ("sleep", "off", "on"),
}


@st.composite
def one_candidate(draw: st.DrawFn, agent: AgentName) -> OpenProposal:
    """Draw any proposal of an agent."""
    kind = draw(st.sampled_from(KINDS[agent]))
    word = draw(st.sampled_from(WORDS.get(kind, ("",))))
    score = draw(st.floats(0.0, 1.0))
    reason = draw(st.sampled_from([Reason.NOTHING_TO_DO, Reason.PREDICTION_MISSING]))
    if kind is NOOP:
        return candidate(agent, kind, word, score=score, reason=reason)
    return candidate(agent, kind, word, score=score)


@st.composite
def any_proposals(draw: st.DrawFn) -> list[OpenProposal]:
    """Draw the proposals of any of the three agents."""
    agents = draw(st.lists(st.sampled_from([A, B, C]), unique=True))
    return [draw(one_candidate(agent)) for agent in agents]


@given(any_proposals(), st.randoms(use_true_random=False))
def test_the_ruling_does_not_depend_on_the_order_of_arrival(
    proposals: list[OpenProposal], random: Any
) -> None:
    """Any order of the same proposals gives the same ruling."""
    shuffled = list(proposals)
    random.shuffle(shuffled)

    assert rule_on(shuffled) == rule_on(proposals)


@given(any_proposals())
def test_every_proposal_is_selected_or_overridden_and_at_most_one_selected(
    proposals: list[OpenProposal],
) -> None:
    """Nobody loses silently, and there is never a second action."""
    ruling = rule_on(proposals)

    lost = set(ruling.overridden)
    won = {
        proposal.considered.agent
        for proposal in proposals
        if proposal.considered.id == ruling.selected
    }
    assert len(won) <= 1
    assert won.isdisjoint(lost)
    assert won | lost == {proposal.considered.agent for proposal in proposals}


@given(any_proposals())
def test_a_protective_action_never_loses_to_a_saving_one(proposals: list[OpenProposal]) -> None:
    """Efficiency wins only when neither A nor C protects."""
    ruling = rule_on(proposals)
    protects = any(
        (proposal.considered.agent is A and proposal.wants)
        or (proposal.considered.agent is C and proposal.wants and not proposal.admits)
        for proposal in proposals
    )

    assert not (protects and ruling.parts[0].action.agent is B)


def test_the_fixed_order_names_the_three_and_who_else_proposed() -> None:
    """Recordings of three agents keep their text, whoever is installed; another one is named."""
    admit = candidate("admission", ActionKind.ADMISSION, "admit")
    other = candidate("unheard", ActionKind.THROTTLE)

    three, four = rule_on([admit]), rule_on([other, admit])

    assert three.rationale.endswith("deterministic referee priority A, C, B")
    assert four.rationale.endswith("deterministic referee priority A, C, B, unheard")
    assert four.overridden["unheard"].rule is RefereeRule.FIXED_ORDER
