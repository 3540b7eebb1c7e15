"""Whether policies of the three agents may act: played beside the agents' rules in worlds that nothing was chosen by.

The gain is asked of the outcome score, money for what the cluster showed. The scoreboard's total is what policies were
paid by, and a policy that is good at being paid is not yet good for the cluster; that total only must not be worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lab.learning.comparison.gate import LEAST_STREAMS, MOST_HARM, GateAnswer
from lab.learning.evaluation.statistics import Interval, two_way_mean
from lab.learning.multi_agent.worlds import AgentsEpisode
from schemas.score import GROUPS, LEAST_MONEY
from services.agents.learned_actions import LETTERS
from services.learned_policy.card import Figure, Gate, PolicyCard

GUARDED = ("SLO", "waiting", "disruptions")
"""Groups of the outcome score that may not cost a tenth more than under the rules."""


@dataclass(frozen=True, slots=True)
class WorldsJudgement:
    """Policies beside the agents' rules in the worlds of one workload; above 0 is better."""

    workload: str
    worlds: int
    dollars: Interval
    """Paired difference of the outcome score, USD per hour."""
    total: Interval
    """Paired difference of the scoreboard's weighted total of an episode."""
    costs: Mapping[str, tuple[float, float]]
    """Of each guarded group, USD per hour: the policies', and the rules'."""


def judge_worlds(
    workload: str, ours: Sequence[AgentsEpisode], rules: Sequence[AgentsEpisode]
) -> WorldsJudgement:
    """Return how policies do beside rules in the same worlds."""
    pairs = list(zip(ours, rules, strict=True))
    dollars = np.array([[one.dollars_per_hour - other.dollars_per_hour for one, other in pairs]])
    totals = np.array([[one.total - other.total for one, other in pairs]])
    costs = {group: (_cost(ours, group), _cost(rules, group)) for group in GUARDED}
    return WorldsJudgement(
        workload, len(pairs), two_way_mean(dollars, 0), two_way_mean(totals, 0), costs
    )


def judge_agents_gate(judgements: Sequence[WorldsJudgement]) -> GateAnswer:
    """Return whether the policies may act.

    They pass when the outcome score is above the rules' on some workload with an interval that excludes 0 and below it
    on none, the scoreboard's total is worse on none, no guarded group costs a tenth more, and worlds are enough.
    """
    against: list[str] = []
    shown: list[str] = []
    for one in judgements:
        limits = f"{one.dollars.low:+.3g} to {one.dollars.high:+.3g} USD/h"
        if one.worlds < LEAST_STREAMS:
            against.append(
                f"{one.workload}: {one.worlds} worlds, and {LEAST_STREAMS} are asked for"
            )
        if one.dollars.low > 0.0:
            shown.append(f"{one.workload}: outcome score above the rules' ({limits})")
        elif one.dollars.high < 0.0:
            against.append(f"{one.workload}: outcome score below the rules' ({limits})")
        elif one.dollars.value != one.dollars.value:
            against.append(f"{one.workload}: a world told no outcome score")
        if one.total.high < 0.0:
            against.append(
                f"{one.workload}: scoreboard's total below the rules' ({one.total.low:+.3g} to {one.total.high:+.3g})"
            )
        against += [
            f"{one.workload}: {group} cost {mine:.3g} USD/h, {theirs:.3g} under the rules"
            for group, (mine, theirs) in one.costs.items()
            if mine > max(MOST_HARM * theirs, theirs + LEAST_MONEY)
        ]
    if not shown:
        against.append("a gain over the agents' rules is shown on no workload")
    return GateAnswer(not against, tuple(against or shown))


def with_agents_gate(
    card: PolicyCard,
    judgements: Sequence[WorldsJudgement],
    answer: GateAnswer,
    code: str,
    together: Mapping[str, str],
) -> PolicyCard:
    """Return a card with the answer and the figures behind it.

    Args:
        card: of one of the policies that were played.
        judgements: of every workload.
        answer: of the gate.
        code: version of the code that played them.
        together: weights of all of them, by agent.
    """
    figures = tuple(
        Figure(
            metric=metric, split="test", workload=one.workload, episodes=one.worlds, value=found.value,
            low=_known(found.low), high=_known(found.high),
        )
        for one in judgements
        for metric, found in (
            ("outcome score less the rules', USD/h", one.dollars), ("scoreboard's total less the rules'", one.total),
        )
    )  # fmt: skip
    gate = Gate(
        experiment=", ".join(one.workload for one in judgements),
        split="test",
        seeds=min(one.worlds for one in judgements),
        code=code,
        passes=answer.passes,
        first_reason=answer.reasons[0],
        weights_sha256=card.weights_sha256,
        together=dict(together) if len(together) > 1 else {},
    )
    return card.model_copy(update={"gate": gate, "figures": figures})


def letter_of(agent: str) -> str:
    """Return the predecessors' name of an agent."""
    return next(letter for letter, name in LETTERS.items() if name == agent)


def _cost(episodes: Sequence[AgentsEpisode], group: str) -> float:
    """Return what a group of components cost on the mean, USD per hour."""
    names = GROUPS[group]
    return float(
        -np.mean(
            [
                sum(
                    money
                    for name, money in one.components.items()
                    if name.partition("/")[0] in names
                )
                for one in episodes
            ]
        )
    )


def _known(limit: float) -> float | None:
    return None if limit != limit else limit
