"""Whether the baseline's reward noticed what the outcome score did: an audit of one recording.

`outcome.reward` is what the predecessors tuned and trained by; `outcome.score` is what the cluster's work was worth.
A reward that pays for actions which were never done, or that rises while the score falls, is no goal to learn from.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from schemas.envelope import Event
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution, OutcomeReward
from schemas.score import OutcomeScore
from schemas.signals import SignalStatus

FIELDS = ("sla_violations", "completed_tasks", "energy_watts", "queue_length")
"""Of `ClusterTotals`: what the predecessors' reward reads of the telemetry."""
BASE = "base"
"""The term that every agent gets for every decision, whatever it does."""
LEAST_PAIRS = 3
ENDS = ("done", "dry run", "refused", "failed", "nothing to do")
"""Outcome of a decision's action."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """How an agent's reward moved where a field of the telemetry moved, from one scored cycle to the next."""

    agent: str
    field: str
    rises: int
    mean_when_rising: float
    """Mean change of the reward; NaN where the field never rose."""
    falls: int
    mean_when_falling: float


@dataclass(frozen=True, slots=True)
class ActionRow:
    """Decisions of one kind of action."""

    kind: str
    decisions: int
    by_end: Mapping[str, int]
    """Of `ENDS`; those without any are not there."""
    mean_reward: float
    mean_score: float
    """Money per hour at the cycle that gave the reward; NaN without a score."""


@dataclass(frozen=True, slots=True)
class RewardAudit:
    """Statement of one recording."""

    observations: int
    rewards: int
    """Decisions whose reward was observed."""
    pairs: int
    """Of them, those whose cycle has a score, too."""
    rank_correlation: float
    """Spearman's, of reward and score; NaN with fewer than three pairs or without a spread."""
    queue_correlation: float
    """Spearman's, of reward and queue length; above 0 the reward rises with the queue."""
    moved_apart: int
    """Steps in which one of reward and score rose and the other fell."""
    moved_together: int
    bonus: float
    """All that was paid above the base."""
    bonus_not_done: float
    """Of it, paid for actions that changed nothing: refused, failed, or dry runs."""
    actions: tuple[ActionRow, ...]
    coverage: Mapping[str, float]
    """Share of observations in which a signal was fresh, by its name."""
    most: Mapping[str, float]
    """Largest value of each of `FIELDS`."""
    changes: tuple[FieldChange, ...]

    @property
    def follows(self) -> bool:
        """Whether more reward went with a better score."""
        return self.rank_correlation > 0.0


class _Log:
    """What of a log the audit needs."""

    def __init__(self) -> None:
        self.rewards: dict[int, OutcomeReward] = {}
        self.scores: dict[int, float] = {}
        self.totals: dict[int, Mapping[str, Any]] = {}
        self.ends: dict[str, str] = {}
        self.fresh: Counter[str] = Counter()

    def add(self, event: Event[Any]) -> None:
        match event.data:
            case OutcomeReward() as reward if reward.observed is not None:
                self.rewards[reward.cycle] = reward
            case OutcomeScore() as score:
                self.scores[score.cycle] = score.step_money_per_hour
            case Observation() as seen:
                self.totals[seen.cycle] = seen.totals.model_dump()
                self.fresh.update(
                    signal.name for signal in seen.signals if signal.status is SignalStatus.FRESH
                )
                for signal in seen.signals:
                    self.fresh[signal.name] += 0  # one that was never fresh is named, too
            case OutcomeExecution(part=0) as execution if not execution.rollback_of:
                end = _end_of(execution)
                if end:
                    self.ends[execution.decision_id] = end
            case _:
                pass


def _end_of(execution: OutcomeExecution) -> str:
    if execution.phase is ExecutionPhase.STARTED:
        return ""
    if execution.phase is ExecutionPhase.REFUSED:
        return "refused"
    if not execution.succeeded:
        return "failed"
    if not execution.operations:
        return "nothing to do"
    return "done" if execution.mode is Mode.ACTIVE else "dry run"


def audit_rewards(events: Iterable[Event[Any]]) -> RewardAudit:
    """Return the audit of a log's events, in order."""
    log = _Log()
    for event in events:
        log.add(event)
    rewards = [log.rewards[cycle] for cycle in sorted(log.rewards)]
    scored = [
        (_total(reward), log.scores[reward.observed_cycle])
        for reward in rewards
        if reward.observed_cycle is not None and reward.observed_cycle in log.scores
    ]
    queues = [
        (_total(reward), float(log.totals[reward.observed_cycle]["queue_length"]))
        for reward in rewards
        if reward.observed_cycle is not None and reward.observed_cycle in log.totals
    ]
    steps = [(after[0] - before[0]) * (after[1] - before[1]) for before, after in pairwise(scored)]
    bonuses = [(_bonus(reward), _end(reward, log.ends)) for reward in rewards]
    return RewardAudit(
        observations=len(log.totals),
        rewards=len(rewards),
        pairs=len(scored),
        rank_correlation=rank_correlation(scored),
        queue_correlation=rank_correlation(queues),
        moved_apart=sum(step < 0.0 for step in steps),
        moved_together=sum(step > 0.0 for step in steps),
        bonus=math.fsum(amount for amount, _ in bonuses),
        bonus_not_done=math.fsum(
            amount for amount, end in bonuses if end in ("dry run", "refused", "failed")
        ),
        actions=_actions(rewards, log),
        coverage={
            name: count / max(1, len(log.totals)) for name, count in sorted(log.fresh.items())
        },
        most={
            name: max((float(one[name]) for one in log.totals.values()), default=math.nan)
            for name in FIELDS
        },
        changes=_changes(rewards, log.totals),
    )


def _total(reward: OutcomeReward) -> float:
    assert reward.observed is not None, "only observed rewards are kept"
    return reward.observed.total


def _bonus(reward: OutcomeReward) -> float:
    """Return the weighted sum of what was paid above the base."""
    return math.fsum(
        part.amount * reward.weights.get(part.agent, 0.0)
        for part in reward.observed_parts
        if part.amount > 0.0 and part.term != BASE
    )


def _end(reward: OutcomeReward, ends: Mapping[str, str]) -> str:
    return ends.get(reward.decision_id, "nothing to do")


def _actions(rewards: Iterable[OutcomeReward], log: _Log) -> tuple[ActionRow, ...]:
    by_kind: dict[str, list[OutcomeReward]] = defaultdict(list)
    for reward in rewards:
        by_kind[str(reward.action_kind)].append(reward)
    rows = []
    for kind, group in sorted(by_kind.items(), key=lambda item: (-len(item[1]), item[0])):
        counts = Counter(_end(reward, log.ends) for reward in group)
        scores = (log.scores.get(reward.observed_cycle or 0) for reward in group)
        rows.append(
            ActionRow(
                kind,
                len(group),
                {end: counts[end] for end in ENDS if counts[end]},
                _mean([_total(reward) for reward in group]),
                _mean([score for score in scores if score is not None]),
            )
        )
    return tuple(rows)


def _changes(
    rewards: Iterable[OutcomeReward], totals: Mapping[int, Mapping[str, Any]]
) -> tuple[FieldChange, ...]:
    seen = [reward for reward in rewards if reward.observed_cycle in totals]
    moved: dict[tuple[str, str], tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for before, after in pairwise(seen):
        assert before.observed is not None
        assert after.observed is not None
        for field in FIELDS:
            step = (
                totals[after.observed_cycle or 0][field] - totals[before.observed_cycle or 0][field]
            )
            for agent, amount in after.observed.by_agent.items():
                rising, falling = moved[str(agent), field]
                change = amount - before.observed.by_agent.get(agent, amount)
                if step > 0:
                    rising.append(change)
                elif step < 0:
                    falling.append(change)
    return tuple(
        FieldChange(agent, field, len(rising), _mean(rising), len(falling), _mean(falling))
        for (agent, field), (rising, falling) in sorted(moved.items())
    )


def rank_correlation(pairs: Iterable[tuple[float, float]]) -> float:
    """Return Spearman's rank correlation, equal values sharing the mean of their ranks.

    NaN with fewer than three pairs, or where one side does not vary.
    """
    known = list(pairs)
    if len(known) < LEAST_PAIRS:
        return math.nan
    ranks = [_mean_ranks([pair[side] for pair in known]) for side in (0, 1)]
    centred = [side - side.mean() for side in ranks]
    spread = math.sqrt(float((centred[0] ** 2).sum() * (centred[1] ** 2).sum()))
    return float((centred[0] * centred[1]).sum()) / spread if spread else math.nan


def _mean_ranks(values: list[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    _, place, counts = np.unique(np.array(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    means: np.ndarray[Any, np.dtype[np.float64]] = (ends - (counts - 1) / 2.0)[place]
    return means


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
