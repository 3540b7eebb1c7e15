"""Stories: one cycle from its decision to what came of it, as the page tells it.

Every agent that was expected has a place in it: selected, overridden with the rule and the numbers
that beat it, or missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from schemas.actions import LETTERS, Action, Agent, Evidence
from schemas.decision import Considered, Decision, Override
from schemas.envelope import Event
from schemas.outcome import (
    ExecutionPhase,
    GuardCheck,
    OutcomeExecution,
    OutcomeReward,
    OutcomeVerification,
)
from schemas.proposal import Proposal

Json = dict[str, Any]
MILLISECOND_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Story:
    """What is known of one cycle."""

    cycle: int
    actions: Mapping[str, Action] = field(default_factory=dict)
    """What was proposed, by the proposal's id; a decision lists no parameters."""
    decision: Event[Decision] | None = None
    execution: OutcomeExecution | None = None
    """The newest phase of it; a rollback is another execution."""
    rollback: OutcomeExecution | None = None
    verification: OutcomeVerification | None = None
    reward: OutcomeReward | None = None


def continued(story: Story, event: Event[Any]) -> Story:
    """Return the story after a decision or an outcome of its cycle."""
    match event.data:
        case Proposal(action=action):
            return replace(story, actions={**story.actions, event.id: action})
        case Decision():
            return replace(story, decision=event)
        case OutcomeExecution(rollback_of=""):
            return replace(story, execution=event.data)
        case OutcomeExecution():
            return replace(story, rollback=event.data)
        case OutcomeVerification():
            return replace(story, verification=event.data)
        case OutcomeReward():
            return replace(story, reward=event.data)
        case _:
            return story


def told(story: Story) -> Json | None:
    """Return the whole story as JSON; None without its decision."""
    if story.decision is None:
        return None
    data = story.decision.data
    return {
        "cycle": data.cycle,
        "seq": story.decision.seq,
        "recorded_ms": story.decision.recorded_ns // MILLISECOND_NS,
        "cluster_time_seconds": data.cluster_time_seconds,
        "action": acted(data.action),
        "rule": data.rule,
        "rationale": data.rationale,
        "closed_by": data.closed_by,
        "score": data.score,
        "reason": data.reason,
        "repeat_count": data.repeat_count,
        "profile": data.profile,
        "agents": _agents(data, story.actions),
        "execution": _executed(story.execution),
        "rollback": _executed(story.rollback),
        "verification": _verified(story.verification),
        "reward": _rewarded(story.reward),
    }


def brief(story: Story) -> Json | None:
    """Return one line of the list of recent decisions; None without its decision."""
    if story.decision is None:
        return None
    data = story.decision.data
    observed = None if story.reward is None else story.reward.observed
    return {
        "cycle": data.cycle,
        "letter": _letter(data.action.agent),
        "label": data.action.label,
        "target": data.action.target.name,
        "rule": data.rule,
        "losers": len(data.overridden),
        "missing": [LETTERS[agent] for agent in data.missing],
        "became": became(story),
        "reward": None if observed is None else observed.total,
    }


def became(story: Story) -> str:
    """Return in a word what became of the decision; empty while it is open."""
    if story.rollback is not None:
        return "rolled_back"
    if story.verification is not None:
        return str(story.verification.status)
    execution = story.execution
    if execution is None:
        return ""
    if execution.phase is ExecutionPhase.FINISHED:
        return "executed" if execution.succeeded else "execution_failed"
    return str(execution.phase)


def acted(action: Action) -> Json:
    """Return an action as JSON."""
    return {
        "label": action.label,
        "letter": _letter(action.agent),
        "agent": action.agent,
        "kind": action.kind,
        "target": action.target.name,
        "parameters": _parameters(action),
    }


def _parameters(action: Action | None) -> Json:
    return {} if action is None else action.parameters.model_dump(mode="json", exclude_none=True)


def _letter(agent: Agent | None) -> str:
    return "R" if agent is None else LETTERS[agent]


def _agents(data: Decision, actions: Mapping[str, Action]) -> list[Json]:
    judged = [_judged(one, data, actions.get(one.id)) for one in data.considered]
    missing = [
        {"agent": agent, "letter": LETTERS[agent], "verdict": "missing"} for agent in data.missing
    ]
    return judged + missing


def _judged(one: Considered, data: Decision, action: Action | None) -> Json:
    override = data.overridden.get(one.agent.value)
    return {
        "agent": one.agent,
        "letter": LETTERS[one.agent],
        "verdict": "won" if one.id == data.selected else "lost",
        "status": one.status,
        "kind": one.kind,
        "target": one.target.name,
        "parameters": _parameters(action),
        "score": one.score,
        "priority": one.priority,
        "rule": one.rule,
        "text": one.text,
        "reason": one.reason,
        "evidence": [_measured(evidence) for evidence in one.evidence],
        "override": None if override is None else _beaten(override),
    }


def _measured(evidence: Evidence) -> Json:
    return {
        "name": evidence.name,
        "value": evidence.value,
        "comparison": evidence.comparison,
        "threshold": evidence.threshold,
        "holds": evidence.holds,
        "subject": evidence.subject,
        "age_seconds": evidence.age_seconds,
    }


def _beaten(override: Override) -> Json:
    return {
        **override.model_dump(mode="json"),
        "by_letter": None if override.by is None else LETTERS[override.by],
    }


def _executed(execution: OutcomeExecution | None) -> Json | None:
    if execution is None:
        return None
    results = dict.fromkeys(("applied", "unchanged", "refused", "failed"), 0)
    for one in execution.results:
        results[one.status] += 1
    return {
        "phase": execution.phase,
        "mode": execution.mode,
        "succeeded": execution.succeeded,
        "reason": execution.reason,
        "text": execution.text,
        "operations": [operation.text for operation in execution.operations[:8]],
        "operations_total": len(execution.operations),
        "results": {status: count for status, count in results.items() if count},
        "failed_guards": _failed(execution.guards),
    }


def _verified(verification: OutcomeVerification | None) -> Json | None:
    if verification is None:
        return None
    return {
        "status": verification.status,
        "text": verification.text,
        "reason": verification.reason,
        "lag_seconds": verification.lag_seconds,
        "observed_cycle": verification.observed_cycle,
        "failed_checks": _failed(verification.checks),
    }


def _failed(checks: tuple[GuardCheck, ...]) -> list[Json]:
    return [check.model_dump(mode="json") for check in checks if not check.passed][:8]


def _rewarded(reward: OutcomeReward | None) -> Json | None:
    if reward is None:
        return None
    return {
        "observed": None if reward.observed is None else reward.observed.model_dump(mode="json"),
        "predicted": reward.predicted.model_dump(mode="json"),
    }
