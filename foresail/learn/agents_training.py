"""Training the three agents, their files, and how these do beside the agents' rules and beside chance."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import Any

import structlog
from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.learn.agents_world import agents_env
from foresail.output import console, print_json
from foresail.progress import doing_shares
from foresail.run_log import note, note_artifact
from inputs.clock import SystemClock
from lab.learning.environments.agents import AgentsEnv
from lab.learning.evaluation.episodes import DEVELOPMENT_SEED, TEST_SEED
from lab.learning.export.export import write_policy
from lab.learning.multi_agent.export import export_agents, met_observations
from lab.learning.multi_agent.plan import AgentsPlan
from lab.learning.multi_agent.training import Cluster, Iteration, read_curve, train_agents
from lab.learning.multi_agent.worlds import (
    AgentsEpisode,
    by_draw,
    by_policies,
    by_rules,
    play_agents,
)
from projections.figures import duration, number
from schemas.run import RunEvaluation
from services.learned_policy.choice import LearnedPolicy
from services.learned_policy.file import SUFFIX

OUTCOME = "outcome.json"
MET_EPISODES = 3
TWO_SIDED = 1.96


@dataclass(frozen=True, slots=True)
class AgentsRun:
    """What is asked for."""

    plan: AgentsPlan
    folder: Path
    workers: int
    ray_address: str | None
    episodes: int
    states: int


def make_agents_env(world: Mapping[str, Any], first_seed: int) -> AgentsEnv:
    """Return the environment of a process; a function of the module, so that other processes find it."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    try:
        return agents_env(**world, first_seed=first_seed)
    except TypeError as error:
        remedy = "use variant, reward, workload, nodes and steps"
        raise InputError("--env-argument", ", ".join(world), remedy) from error


def train_and_judge(asked: AgentsRun, *, as_json: bool) -> ExitCode:
    """Train, export, play, write `outcome.json`, and show it."""
    for name in ("workers", "episodes", "states"):
        if getattr(asked, name) < (0 if name == "workers" else 1):
            raise InputError(f"--{name}", getattr(asked, name), "give more")
    plan, clock = asked.plan, SystemClock()
    make = partial(make_agents_env, dict(plan.world))
    total = sum(stage.train_iters for stage in plan.stages)
    with doing_shares("training") as progress:

        def report(one: Iteration) -> None:
            before = sum(stage.train_iters for stage in plan.stages[: one.stage])
            progress("training", (before + one.iteration + 1) / total)
            if one.mean_return is not None:
                note(
                    RunEvaluation, policy=asked.folder.name, seed=plan.seed, steps=one.steps,
                    value=one.mean_return, better="higher",
                )  # fmt: skip

        cluster = Cluster(asked.workers, asked.ray_address)
        modules = train_agents(plan, make, asked.folder, cluster, clock, report)
        last = read_curve(asked.folder)[-1]
        env = make(TEST_SEED)
        try:
            seeds = range(DEVELOPMENT_SEED, DEVELOPMENT_SEED + MET_EPISODES)
            met = met_observations(env, by_draw(Random(plan.seed)), seeds, Random(plan.seed))
            policies = dict(export_agents(plan, modules, met, last.steps, asked.states))
            files = _write(asked.folder, policies)
            progress("playing", 1.0)
            played = _play(env, policies, asked.episodes, plan.seed)
        finally:
            env.close()
    outcome = {
        "plan": plan.as_json(),
        "steps": last.steps,
        "seconds": round(last.seconds, 1),
        "files": files,
        "agreement": {name: _agreement(one) for name, one in policies.items()},
        "totals": {name: [one.total for one in episodes] for name, episodes in played.items()},
    }
    (asked.folder / OUTCOME).write_text(json.dumps(outcome, indent=1) + "\n", encoding="utf-8")
    if as_json:
        print_json(outcome)
    else:
        _print(asked, last, played)
    return ExitCode.GOOD


def _write(folder: Path, policies: Mapping[str, LearnedPolicy]) -> dict[str, int]:
    """Write a file for each agent; return their bytes by file."""
    written = {}
    for letter, policy in policies.items():
        path = folder / f"{letter}{SUFFIX}"
        written[str(path)] = write_policy(policy, path)
        note_artifact(path, "model")
    return written


def _play(
    env: AgentsEnv, policies: Mapping[str, LearnedPolicy], count: int, seed: int
) -> dict[str, list[AgentsEpisode]]:
    seeds = range(TEST_SEED, TEST_SEED + count)
    arms = {"learned": by_policies(policies), "rules": by_rules, "random": by_draw(Random(seed))}
    return {name: play_agents(env, choose, seeds) for name, choose in arms.items()}


def _agreement(policy: LearnedPolicy) -> dict[str, Any] | None:
    found = policy.card.agreement
    return None if found is None else found.model_dump()


def _print(
    asked: AgentsRun, last: Iteration, played: Mapping[str, Sequence[AgentsEpisode]]
) -> None:
    out = console()
    out.print(
        f"{last.steps} cycles in {duration(last.seconds)}; files in {asked.folder}", markup=False
    )
    table = Table(box=None, title="episodes of the test", title_justify="left")
    for head in ("", "mean total", "less random's, 95 % interval"):
        table.add_column(head)
    chance = [one.total for one in played["random"]]
    for name, episodes in played.items():
        totals = [one.total for one in episodes]
        table.add_row(name, number(fmean(totals)), "" if name == "random" else gain(totals, chance))
    out.print(table)


def gain(totals: Sequence[float], others: Sequence[float]) -> str:
    """Return the mean paired difference with its 95 % interval by the normal approximation."""
    pairs = [one - other for one, other in zip(totals, others, strict=True)]
    middle = fmean(pairs)
    if len(pairs) < 2:
        return number(middle)
    half = TWO_SIDED * stdev(pairs) / math.sqrt(len(pairs))
    return f"{number(middle)} ({number(middle - half)} to {number(middle + half)})"
