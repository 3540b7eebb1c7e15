"""One cycle from its decision to what came of it, as JSON for the page.

Every agent that was expected has a place in it: selected, overridden with the rule and the numbers
that beat it, or missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from projections.cycle_record import CycleRecord, PartRecord
from projections.measure_names import measure_name
from projections.noop_text import same_noop
from schemas.actions import Action, ActionKind, AgentName, Evidence
from schemas.agents import action_label, letter_of
from schemas.decision import Considered, Decision, Override, is_noop, noop_reason, short_rationale
from schemas.outcome import (
    GuardCheck,
    OutcomeExecution,
    OutcomeReward,
    OutcomeVerification,
)
from schemas.signals import Signal, SignalStatus

Json = dict[str, Any]
MILLISECOND_NS = 1_000_000


def cycle_json(record: CycleRecord, signals: Sequence[Signal] | None = None) -> Json | None:
    """Return a cycle's decision, what it saw, who lost to it and what came of it; None without its decision.

    Args:
        record: the cycle.
        signals: those of its observation; None where that is not known.
    """
    if record.decision is None:
        return None
    data = record.decision.data
    reward = None if record.reward is None else record.reward.data
    return {
        "cycle": data.cycle,
        "seq": record.decision.seq,
        "recorded_ms": record.decision.recorded_ns // MILLISECOND_NS,
        "cluster_time_seconds": data.cluster_time_seconds,
        "action": action_json(data.action),
        "parts": [
            {**action_json(decided.action), "score": decided.score, **_followed(part)}
            for decided, part in zip(data.parts, record.parts, strict=False)
        ],
        "rule": data.rule,
        "rationale": noop_reason(data) if is_noop(data) else short_rationale(data),
        "closed_by": data.closed_by,
        "score": data.score,
        "reason": data.reason,
        "repeat_count": data.repeat_count,
        "profile": data.profile,
        "signals": None if signals is None else _signals(signals),
        "agents": _agents(data, record.actions),
        **_followed(record.parts[0]),
        "reward": _reward(reward),
    }


def decision_row(record: CycleRecord) -> Json | None:
    """Return one line of the list of recent decisions; None without its decision."""
    if record.decision is None:
        return None
    data = record.decision.data
    observed = None if record.reward is None else record.reward.data.observed
    return {
        "cycle": data.cycle,
        "letter": "R" if is_noop(data) else _letter(data.action.agent),
        "label": action_label(data.action),
        "noop": noop_reason(data) if is_noop(data) else None,
        "target": data.action.aim,
        "more": [action_json(action) for action in data.actions[1:]],
        "rule": data.rule,
        "losers": len(data.overridden),
        "missing": [letter_of(agent) for agent in data.missing],
        "became": record.result,
        "reward": None if observed is None else observed.total,
    }


def decision_rows(newest_first: Iterable[CycleRecord]) -> Iterator[Json]:
    """Yield the recent decisions; those in a row to do nothing are one, with their count and first cycle.

    A line is made only of the newest of them: that is most of the work of an update. Where the records before a run are
    not there, its oldest decision says how many were like it.
    """
    run: list[CycleRecord] = []
    for record in newest_first:
        if record.decision is None:
            continue
        if run and not _is_one_run(run[0], record):
            yield _run_row(run, record.cycle)
            run = []
        run.append(record)
    if run:
        yield _run_row(run, None)


def _is_one_run(newest: CycleRecord, record: CycleRecord) -> bool:
    return (
        newest.decision is not None
        and record.decision is not None
        and same_noop(newest.decision.data, record.decision.data)
    )


def _run_row(run: Sequence[CycleRecord], cycle_before: int | None) -> Json:
    """Return the line of decisions in a row, newest first; `cycle_before` is of the decision before, if it is known."""
    oldest = run[-1]
    unseen = 0
    if oldest.decision is not None and not oldest.acts and cycle_before != oldest.cycle - 1:
        unseen = oldest.decision.data.repeat_count - 1
    row = decision_row(run[0]) or {}
    return row | {"count": len(run) + unseen, "first": oldest.cycle - unseen}


def action_json(action: Action) -> Json:
    """Return an action as JSON."""
    return {
        "label": action_label(action),
        "letter": "R" if action.kind is ActionKind.NOOP else _letter(action.agent),
        "agent": action.agent,
        "kind": action.kind,
        "target": action.aim,
        "parameters": _parameters(action),
    }


def _parameters(action: Action | None) -> Json:
    """Return what an action says beyond its kind and aim."""
    if action is None:
        return {}
    return {name: value for name, value in action.parameters.items() if name != "replicas"}


def _letter(agent: AgentName | None) -> str:
    return "R" if agent is None else letter_of(agent)


def _agents(data: Decision, actions: Mapping[str, Action]) -> list[Json]:
    considered = [
        _considered_row(proposal, data, actions.get(proposal.id)) for proposal in data.considered
    ]
    missing = [
        {"agent": agent, "letter": letter_of(agent), "verdict": "missing"} for agent in data.missing
    ]
    return considered + missing


def _considered_row(proposal: Considered, data: Decision, action: Action | None) -> Json:
    verdict = _verdict(proposal, data)
    override = data.overridden.get(proposal.agent) if verdict == "lost" else None
    return {
        "agent": proposal.agent,
        "letter": letter_of(proposal.agent),
        "verdict": verdict,
        "status": proposal.status,
        "kind": proposal.kind,
        "target": proposal.target.name if action is None else action.aim,
        "parameters": _parameters(action),
        "score": proposal.score,
        "priority": proposal.priority,
        "rule": proposal.rule,
        "text": proposal.text,
        "reason": proposal.reason,
        "evidence": [_evidence(evidence) for evidence in proposal.evidence],
        "override": None if override is None else _override(override, proposal.agent),
    }


def _verdict(proposal: Considered, data: Decision) -> str:
    """Return `waits` where nothing is done and nothing was wanted: nobody wins by that."""
    if is_noop(data) and proposal.kind is ActionKind.NOOP:
        return "waits"
    return "won" if proposal.id in data.winners else "lost"


def _evidence(evidence: Evidence) -> Json:
    return {
        "name": evidence.name,
        "label": measure_name(evidence.name),
        "value": evidence.value,
        "comparison": evidence.comparison,
        "threshold": evidence.threshold,
        "holds": evidence.holds,
        "subject": evidence.subject,
        "age_seconds": evidence.age_seconds,
    }


def _override(override: Override, agent: AgentName) -> Json:
    return {
        **override.model_dump(mode="json"),
        "by_letter": None if override.by is None else letter_of(override.by),
        "by_itself": override.by == agent,
    }


def _followed(part: PartRecord) -> Json:
    return {
        "execution": _execution(part.execution),
        "rollback": _execution(part.rollback),
        "verification": _verification(part.verification),
    }


def _signals(signals: Sequence[Signal]) -> Json:
    """Return what the decision saw: how many signals, those too old or missing, and those that nobody measured."""
    return {
        "count": len(signals),
        "old": [
            signal_json(one)
            for one in signals
            if one.status in (SignalStatus.STALE, SignalStatus.MISSING) or one.exceptions
        ],
        "assumed": [one.name for one in signals if one.status is SignalStatus.ASSUMED],
    }


def signal_json(signal: Signal) -> Json:
    """Return how old a signal was and where it came from."""
    return {
        "name": signal.name,
        "source": signal.source,
        "status": signal.status,
        "age_seconds": signal.age_seconds,
        "limit_seconds": signal.limit_seconds,
        "reason": signal.reason,
        "exceptions": len(signal.exceptions),
        "simulated": signal.simulated,
    }


def _execution(execution: OutcomeExecution | None) -> Json | None:
    if execution is None:
        return None
    results = dict.fromkeys(("applied", "unchanged", "refused", "failed"), 0)
    for result in execution.results:
        results[result.status] += 1
    return {
        "phase": execution.phase,
        "mode": execution.mode,
        "succeeded": execution.succeeded,
        "reason": execution.reason,
        "text": execution.text,
        "operations": [operation.text for operation in execution.operations[:8]],
        "operations_total": len(execution.operations),
        "results": {status: count for status, count in results.items() if count},
        "failed_guards": _failed_checks(execution.guards),
    }


def _verification(verification: OutcomeVerification | None) -> Json | None:
    if verification is None:
        return None
    return {
        "status": verification.status,
        "text": verification.text,
        "reason": verification.reason,
        "lag_seconds": verification.lag_seconds,
        "observed_cycle": verification.observed_cycle,
        "failed_checks": _failed_checks(verification.checks),
    }


def _failed_checks(checks: tuple[GuardCheck, ...]) -> list[Json]:
    return [check.model_dump(mode="json") for check in checks if not check.passed][:8]


def _reward(reward: OutcomeReward | None) -> Json | None:
    if reward is None:
        return None
    return {
        "observed": None if reward.observed is None else reward.observed.model_dump(mode="json"),
        "predicted": reward.predicted.model_dump(mode="json"),
    }
