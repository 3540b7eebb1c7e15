"""Playing policies of the three agents beside the agents' rules, in worlds of the test, for `foresail learn gate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bus.errors import InputError
from foresail.learn.agents_training import make_agents_env
from foresail.progress import doing_shares
from lab.experiments.code_version import code_version
from lab.learning.comparison.gate import GateAnswer
from lab.learning.evaluation.episodes import TEST_SEED
from lab.learning.export.export import write_policy
from lab.learning.multi_agent.gate import (
    WorldsJudgement,
    judge_agents_gate,
    judge_worlds,
    letter_of,
    with_agents_gate,
)
from lab.learning.multi_agent.worlds import by_policies, by_rules, play_agents
from services.learned_policy.card import PolicyCard
from services.learned_policy.choice import LearnedPolicy

MODULES = (
    "foresail.learn.agents_world", "lab.learning.agents.steering", "lab.learning.environments.agents",
    "lab.learning.multi_agent.worlds",
)  # fmt: skip
WORKLOAD = "openb"


def gate_agents(
    policies: Mapping[Path, LearnedPolicy],
    workloads: Sequence[str],
    worlds: int,
    shape: Mapping[str, Any],
) -> tuple[GateAnswer, list[PolicyCard]]:
    """Play policies and rules, write the answer into every file, and return it with the cards.

    Args:
        policies: by file, one for each agent that is to act; the other agents follow their rules.
        workloads: of the worlds; none: the training's.
        worlds: of each workload.
        shape: `nodes` and `steps` of a world where they are not to be the training's.

    Raises:
        InputError: two policies are of one agent, one is of none, or they do not see the same numbers.
    """
    if worlds < 1:
        raise InputError("--streams", worlds, "give 1 or more")
    by_agent = _by_agent(policies)
    trained = _trained_in(policies)
    names = list(dict.fromkeys(workloads)) or [str(trained.pop("workload", WORKLOAD))]
    judgements = []
    with doing_shares("playing") as progress:
        for place, name in enumerate(names):
            progress(name, place / len(names))
            judgements.append(_judged(by_agent, worlds, {**trained, **shape, "workload": name}))
    answer = judge_agents_gate(judgements)
    together = {agent: policy.card.weights_sha256 for agent, policy in by_agent.items()}
    cards = []
    for path, policy in policies.items():
        card = with_agents_gate(policy.card, judgements, answer, code_version(MODULES), together)
        write_policy(replace(policy, card=card), path)
        cards.append(card)
    return answer, cards


def _judged(
    by_agent: Mapping[str, LearnedPolicy], worlds: int, world: Mapping[str, Any]
) -> WorldsJudgement:
    """Play the same worlds by policies and by rules."""
    env = make_agents_env(world, TEST_SEED)
    seeds = range(TEST_SEED, TEST_SEED + worlds)
    choose = by_policies({letter_of(agent): policy for agent, policy in by_agent.items()})
    try:
        ours, rules = play_agents(env, choose, seeds), play_agents(env, by_rules, seeds)
    finally:
        env.close()
    return judge_worlds(str(world["workload"]), ours, rules)


def _by_agent(policies: Mapping[Path, LearnedPolicy]) -> dict[str, LearnedPolicy]:
    by_agent: dict[str, LearnedPolicy] = {}
    for path, policy in policies.items():
        agent = policy.card.arguments.get("agent")
        if agent is None:
            raise InputError(
                "policy", path, "its card names no agent; train it by `learn train-agents`"
            )
        if agent in by_agent:
            raise InputError(
                "policy", path, f"another file is of agent {agent}, too; give one of each"
            )
        by_agent[agent] = policy
    return by_agent


def _trained_in(policies: Mapping[Path, LearnedPolicy]) -> dict[str, Any]:
    """Return what the environment of their training was made with, but for what it paid."""
    (first_path, first), *others = policies.items()
    variant = first.card.arguments.get("variant", "baseline")
    for path, policy in others:
        if policy.card.arguments.get("variant", "baseline") != variant:
            raise InputError("policy", path, f"it does not see the numbers that {first_path} sees")
    world = dict(first.card.hyper_parameters.get("world", {}))
    return {
        **{name: world[name] for name in ("workload", "nodes", "steps") if name in world},
        "variant": variant,
    }
