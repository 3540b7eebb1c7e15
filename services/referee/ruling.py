"""The ruling: from the proposals considered to one action, or to several that touch nothing in common.

Each loser gets the rule and the numbers that beat it.

Pure, and independent of the order in which proposals arrived. Every candidate is either selected or
in `overridden`; more than one is selected only where a rule names more winners.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from schemas.actions import AgentName, NoopAction
from schemas.decision import MOST_PARTS, DecisionPart, Override, RefereeRule
from schemas.reasons import Reason
from services.referee.open_proposal import OpenProposal, canonical
from services.referee.rule import Candidates, Choice, Rule
from services.referee.rules import RULES

REFEREE_PART = DecisionPart(action=NoopAction(), selected=None, score=0.0)
"""The referee's own noop."""

SUPERSEDED_TEXT = "a newer observation arrived before this cycle was closed"


@dataclass(frozen=True, slots=True)
class Ruling:
    """Result of the referee."""

    parts: tuple[DecisionPart, ...]
    """At least one; a noop stands alone."""
    rule: RefereeRule
    rationale: str
    considered: Candidates
    overridden: Mapping[str, Override]
    reason: Reason | None

    @property
    def selected(self) -> str | None:
        """The proposal that the first part selects."""
        return self.parts[0].selected


def rule_on(
    proposals: Iterable[OpenProposal],
    missing: Sequence[AgentName] = (),
    rules: Sequence[Rule] = RULES,
) -> Ruling:
    """Return the ruling of the first rule that applies.

    Args:
        proposals: at most one per agent, in any order.
        missing: expected agents without a proposal; only named, never waited for.
        rules: tried in order.
    """
    candidates = canonical(proposals)
    for rule in rules:
        choice = rule.choose(candidates)
        if choice is not None:
            return _ruling(candidates, rule, choice, missing)
    raise AssertionError("the last rule applies to every set of proposals")


def superseded_ruling(
    proposals: Iterable[OpenProposal], missing: Sequence[AgentName] = ()
) -> Ruling:
    """Return the ruling of a cycle that is not judged: a noop.

    What had been proposed is overridden.
    """
    rule = Rule(RefereeRule.SUPERSEDED, SUPERSEDED_TEXT, lambda _: None)
    return _ruling(canonical(proposals), rule, Choice(None, Reason.SUPERSEDED), missing)


def _ruling(
    candidates: Candidates, rule: Rule, choice: Choice, missing: Sequence[AgentName]
) -> Ruling:
    winners = _winners(choice)
    rule = replace(rule, text=choice.text or rule.text)
    selected = {winner.considered.id for winner in winners}
    overridden = {
        candidate.considered.agent: _override(candidate, winners, rule)
        for candidate in candidates
        if candidate.considered.id not in selected
    }
    return Ruling(
        parts=tuple(map(_part, winners)) or (REFEREE_PART,),
        rule=rule.name,
        rationale=_rationale(candidates, rule, winners, missing),
        considered=candidates,
        overridden=overridden,
        reason=choice.reason,
    )


def _winners(choice: Choice) -> Candidates:
    """Return who wins, in order: a noop alone, or actions of which no two touch the same thing."""
    if choice.winner is None or not choice.winner.wants:
        return () if choice.winner is None else (choice.winner,)
    winners = [choice.winner]
    for candidate in choice.more:
        if candidate.wants and not any(candidate.touches(winner) for winner in winners):
            winners.append(candidate)
    return tuple(winners[:MOST_PARTS])


def _part(winner: OpenProposal) -> DecisionPart:
    own = winner.considered
    return DecisionPart(action=winner.action, selected=own.id, score=own.score, effect=own.effect)


def _rationale(
    candidates: Candidates, rule: Rule, winners: Candidates, missing: Sequence[AgentName]
) -> str:
    if winners and winners[0].wants:
        won = "; ".join(f"{winner.name}: {winner.numbers}" for winner in winners)
        rationale = f"{won}; {rule.text}"
    else:
        views = ", ".join(f"{candidate.name} ({_why(candidate)})" for candidate in candidates)
        rationale = f"Referee:noop: {rule.text}" + (f": {views}" if views else "")
    return rationale + (f"; missing: {', '.join(missing)}" if missing else "")


def _override(loser: OpenProposal, winners: Candidates, rule: Rule) -> Override:
    """Return why a candidate lost: to the winner that touches the same thing, else to the first."""
    in_the_way = (winner for winner in winners if len(winners) > 1 and loser.touches(winner))
    winner = next(in_the_way, winners[0] if winners else None)
    what = f"{loser.name} ({_why(loser)}; {_rank(loser)})"
    how = "is not taken" if winner is None else f"lost to {winner.name} ({_rank(winner)})"
    return Override(
        rule=rule.name,
        by=None if winner is None else winner.considered.agent,
        text=f"{what} {how}: {rule.text}",
        winner_score=None if winner is None else winner.considered.score,
        loser_score=loser.considered.score,
        winner_priority=None if winner is None else winner.considered.priority,
        loser_priority=loser.considered.priority,
    )


def _why(candidate: OpenProposal) -> str:
    """Return the numbers of what was wanted, or the reason and sentence of a noop."""
    if candidate.wants or candidate.considered.reason is None:
        return candidate.numbers
    return f"{candidate.considered.reason}: {candidate.considered.text}"


def _rank(candidate: OpenProposal) -> str:
    return f"score {candidate.considered.score:.6g}, priority {candidate.considered.priority}"
