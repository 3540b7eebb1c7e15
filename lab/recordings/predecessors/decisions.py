"""The predecessor's decisions as ours: the action with its payload, and the proposals that it was taken from."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from lab.recordings.predecessors.forms import DecisionLine, ProposalPart
from schemas.actions import Action, ActionKind, Target, TargetKind
from schemas.decision import ClosedBy, Considered, Decision, DecisionPart, Override, RefereeRule
from schemas.proposal import ProposalStatus

AGENTS = {"AgentA": "safety", "AgentB": "efficiency", "AgentC": "admission"}
REFEREE = "Referee"
PRIORITIES = {"safety": 1, "admission": 2, "efficiency": 3}
"""Of its agents, where a file says none of a proposal."""
PARAMETERS = {
    "state": "power_state",
    "clock_scale": "clock_scale_ratio",
    "mem_scale": "memory_scale_ratio",
    "decision": "admission",
    "cpu_cap": "cpu_cap_ratio",
    "mem_cap": "memory_cap_ratio",
}
QUEUE = Target(kind=TargetKind.QUEUE, name="pending")
PREEMPTS = {ActionKind.MIGRATE, ActionKind.REPLICATE, ActionKind.THROTTLE}
SAVES = {ActionKind.POWER_STATE, ActionKind.DVFS, ActionKind.MEMORY_BALLOON}
PROFILE = "imported"
_ACTION: TypeAdapter[Any] = TypeAdapter(Action)


class Inexpressible(ValueError):
    """A decision lacks what an action of its kind says here; one sentence."""


def decision_of(line: DecisionLine, number: int, cycle: int, at_seconds: float) -> Decision:
    """Return a line's decision.

    Args:
        line: of the kind `decision`.
        number: of the line, which names its proposals: the file gives them no ids.
        cycle: that it is of.
        at_seconds: when it was taken, since the Unix epoch.

    Raises:
        Inexpressible: agent, action or payload is none that there is here.
    """
    action = _action(line)
    considered = tuple(_considered(number, one) for one in line.proposals)
    winner = next(
        (one for one in considered if one.agent == action.agent and one.kind is action.kind), None
    )
    idle = action.kind is ActionKind.NOOP
    rule = rule_of(
        action,
        all_noop=all(one.kind is ActionKind.NOOP for one in considered),
        any_given=bool(considered),
    )
    losers = [one for one in considered if one is not winner]
    part = DecisionPart(
        action=action, selected=None if winner is None else winner.id, score=line.score
    )
    return Decision(
        cycle=cycle,
        cluster_time_seconds=at_seconds,
        observation_id="",
        closed_by=ClosedBy.ALL,  # its loop asked all agents in turn and then decided
        parts=(part,),
        rule=rule,
        rationale=line.reason,
        considered=considered,
        overridden={one.agent: _override(one, winner, rule, idle=idle) for one in losers},
        missing=(),
        repeat_count=line.repeat_count,
        profile=PROFILE,
    )


def rule_of(action: Any, *, all_noop: bool, any_given: bool) -> RefereeRule:
    """Return by which of its referee's rules an action won; the file does not say it, but no two could have."""
    if not any_given:
        return RefereeRule.NO_PROPOSALS if action.agent is None else RefereeRule.FIXED_ORDER
    if all_noop:
        return RefereeRule.ALL_NOOP
    if action.agent == "safety" and action.kind in PREEMPTS:
        return RefereeRule.SAFETY_FIRST
    holds_back = action.kind is ActionKind.ADMISSION and action.admission != "admit"
    if action.agent == "admission" and (holds_back or action.kind is ActionKind.RESOURCE_CAP):
        return RefereeRule.ADMISSION_PROTECTS
    return RefereeRule.EFFICIENCY_BY_SCORE if action.kind in SAVES else RefereeRule.FIXED_ORDER


def _action(line: DecisionLine) -> Any:
    kind = _kind(line.action_kind)
    parameters = {
        PARAMETERS[name]: value for name, value in line.payload.items() if name in PARAMETERS
    }
    given = {"agent": _agent(line.agent), "kind": kind, "target": _target(kind, line.target)}
    try:
        return _ACTION.validate_python({**given, "parameters": parameters})
    except ValidationError as error:
        lacks = error.errors()[0]["loc"][-1]
        raise Inexpressible(f"its {kind} says no {lacks} that fits") from error


def _kind(word: str) -> ActionKind:
    try:
        return ActionKind(word)
    except ValueError as error:
        raise Inexpressible(f"{word!r} is no kind of action") from error


def _agent(name: str) -> str | None:
    if name == REFEREE:
        return None
    if name not in AGENTS:
        raise Inexpressible(f"{name!r} is none of {', '.join(AGENTS)}")
    return AGENTS[name]


def _target(kind: ActionKind, name: str | None) -> Target:
    if kind is ActionKind.NOOP:
        return Target(kind=TargetKind.NONE)
    if kind is ActionKind.ADMISSION:
        return QUEUE
    if name is None:
        raise Inexpressible(f"its {kind} names no node")
    return Target(kind=TargetKind.NODE, name=name)


def _considered(number: int, part: ProposalPart) -> Considered:
    kind, agent = _kind(part.kind), _agent(part.agent)
    if agent is None:
        raise Inexpressible("a proposal of the referee's own")
    return Considered(
        id=f"row-{number}-{agent}",
        agent=agent,
        status=ProposalStatus.NOOP if kind is ActionKind.NOOP else ProposalStatus.PROPOSED,
        kind=kind,
        target=_target(kind, part.target),
        score=part.score,
        priority=PRIORITIES[agent] if part.priority is None else part.priority,
        rule="",
        text="",
    )


def _override(
    loser: Considered, winner: Considered | None, rule: RefereeRule, *, idle: bool
) -> Override:
    return Override(
        rule=rule,
        by=None if winner is None or idle else winner.agent,
        text="the imported file does not say why",
        winner_score=None if winner is None else winner.score,
        loser_score=loser.score,
        winner_priority=None if winner is None else winner.priority,
        loser_priority=loser.priority,
    )
