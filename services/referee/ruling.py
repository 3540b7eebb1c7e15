"""The ruling: from the proposals considered to one action.

Each loser gets the rule and the numbers that beat it.

Pure, and independent of the order in which proposals arrived. Every candidate is either selected or
in `overridden`; at most one is selected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from schemas.actions import Action, AgentName, NoopAction
from schemas.decision import Override, RefereeRule
from schemas.reasons import Reason
from services.referee.candidate import Candidate, canonical
from services.referee.rule import Candidates, Choice, Rule
from services.referee.rules import RULES

REFEREE_NOOP = NoopAction()
"""The referee's own noop."""

SUPERSEDED_TEXT = "a newer observation arrived before this cycle was closed"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the referee found."""

    action: Action
    selected: str | None
    score: float
    rule: RefereeRule
    rationale: str
    considered: Candidates
    overridden: Mapping[str, Override]
    reason: Reason | None


def rule_on(
    proposals: Iterable[Candidate], missing: Sequence[AgentName] = (), rules: Sequence[Rule] = RULES
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


def superseded_ruling(proposals: Iterable[Candidate], missing: Sequence[AgentName] = ()) -> Ruling:
    """Return the ruling of a cycle that is not judged: a noop.

    What had been proposed is overridden.
    """
    rule = Rule(RefereeRule.SUPERSEDED, SUPERSEDED_TEXT, lambda _: None)
    return _ruling(canonical(proposals), rule, Choice(None, Reason.SUPERSEDED), missing)


def _ruling(
    candidates: Candidates, rule: Rule, choice: Choice, missing: Sequence[AgentName]
) -> Ruling:
    winner = choice.winner
    rule = replace(rule, text=choice.text or rule.text)
    overridden = {
        candidate.considered.agent: _override(candidate, winner, rule)
        for candidate in candidates
        if winner is None or candidate.considered.id != winner.considered.id
    }
    return Ruling(
        action=REFEREE_NOOP if winner is None else winner.action,
        selected=None if winner is None else winner.considered.id,
        score=0.0 if winner is None else winner.considered.score,
        rule=rule.name,
        rationale=_rationale(candidates, rule, winner, missing),
        considered=candidates,
        overridden=overridden,
        reason=choice.reason,
    )


def _rationale(
    candidates: Candidates, rule: Rule, winner: Candidate | None, missing: Sequence[AgentName]
) -> str:
    if winner is not None and winner.wants:
        rationale = f"{winner.name}: {winner.numbers}; {rule.text}"
    else:
        views = ", ".join(f"{candidate.name} ({_why(candidate)})" for candidate in candidates)
        rationale = f"Referee:noop: {rule.text}" + (f": {views}" if views else "")
    return rationale + (f"; missing: {', '.join(missing)}" if missing else "")


def _override(loser: Candidate, winner: Candidate | None, rule: Rule) -> Override:
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


def _why(candidate: Candidate) -> str:
    """Return the numbers of what was wanted, or the reason and sentence of a noop."""
    if candidate.wants or candidate.considered.reason is None:
        return candidate.numbers
    return f"{candidate.considered.reason}: {candidate.considered.text}"


def _rank(candidate: Candidate) -> str:
    return f"score {candidate.considered.score:.6g}, priority {candidate.considered.priority}"
