"""`foresail learn evaluate`: policies on the same episodes, which nothing was chosen by."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.learn.environment_choice import pairs, run_folder
from foresail.output import console, print_json, print_note
from lab.learning.comparison.contestants import Contestant, exported, is_exported, trained
from lab.learning.evaluation.episodes import TEST_SEED, Episode, play
from lab.learning.evaluation.statistics import aggregate
from lab.learning.libraries import library
from lab.learning.training.environments import ADMISSION, make_environment, on_split
from projections.figures import number

EXAMPLES = (
    ("learn evaluate skrueue-ppo", "every seed of a run, by its framework"),
    ("learn evaluate ppo.policy --env-argument workload=burst", "a file, by numpy, on other jobs"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("policies", nargs="+", metavar="POLICY",
                        help="a name of `learn train`, or a file of `learn export`")  # fmt: skip
    parser.add_argument("--env-argument", action="append", default=[], metavar="NAME=VALUE",
                        help="what the environment is made with instead of in training; repeatable")  # fmt: skip
    parser.add_argument("--episodes", type=int, default=100, metavar="N",
                        help="the same ones for every policy (default: %(default)s)")  # fmt: skip
    parser.add_argument("--first-episode", type=int, default=TEST_SEED, metavar="SEED",
                        help="seed of the first (default: %(default)s)")  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Play and show; raises InputError where a policy cannot be used."""
    library("gymnasium")
    if arguments.episodes < 1:
        raise InputError("--episodes", arguments.episodes, "give 1 or more")
    changed = pairs("--env-argument", arguments.env_argument)
    seeds = range(arguments.first_episode, arguments.first_episode + arguments.episodes)
    rows = []
    for word in arguments.policies:
        one = [exported(Path(word))] if is_exported(word) else list(trained(run_folder(word)))
        played = [_play(contestant, changed, seeds) for contestant in one]
        rows.append({**_row(word, played), "paid_by": _paid_by(one[0], changed)})
    if arguments.json:
        print_json(
            {
                "episodes": arguments.episodes,
                "first_episode": arguments.first_episode,
                "policies": rows,
            }
        )
    else:
        _print(rows)
    return ExitCode.GOOD


def _play(contestant: Contestant, changed: dict[str, Any], seeds: Sequence[int]) -> list[Episode]:
    assert contestant.environment is not None
    name = contestant.environment
    arguments = {**on_split(name, contestant.arguments, "test"), **changed}
    return list(
        play(contestant.policy, lambda: make_environment(name, arguments), seeds,
             masked=contestant.masked)
    )  # fmt: skip


def _paid_by(contestant: Contestant, changed: dict[str, Any]) -> str:
    """Return what a policy's returns are returns of; those of two different ones are on different scales."""
    arguments = {**contestant.arguments, **changed}
    if contestant.environment != ADMISSION:
        return str(contestant.environment)
    usual = "skrueue" if arguments.get("variant", "skrueue") == "skrueue" else "score"
    return f"reward={arguments.get('reward', usual)} on {arguments.get('workload', 'uniform')}"


def _row(word: str, played: Sequence[Sequence[Episode]]) -> dict[str, Any]:
    """Return a policy's figures: over seeds where it has several, with an interval."""
    means = np.array([fmean(episode.total for episode in episodes) for episodes in played])
    middle = aggregate([means], seed=0)
    names = sorted({name for episodes in played for one in episodes for name in one.metrics})
    return {
        "policy": Path(word).name,
        "seeds": len(played),
        "mean_return": float(means.mean()),
        "interquartile_mean": middle.value,
        "low": middle.low if len(played) > 1 else None,
        "high": middle.high if len(played) > 1 else None,
        "deviation": float(np.std([one.total for episodes in played for one in episodes])),
        "mean_length": fmean(one.length for episodes in played for one in episodes),
        "metrics": {
            name: fmean(
                one.metrics[name] for episodes in played for one in episodes if name in one.metrics
            )
            for name in names
        },
    }


def _print(rows: Sequence[dict[str, Any]]) -> None:
    table = Table(box=None)
    heads = (
        "policy",
        "seeds",
        "return",
        "interquartile mean",
        "95 % interval",
        "deviation",
        "steps",
    )
    for head in heads:
        table.add_column(head)
    for row in rows:
        interval = (
            "one seed: none"
            if row["low"] is None
            else f"{number(row['low'])} to {number(row['high'])}"
        )
        table.add_row(
            row["policy"], str(row["seeds"]), number(row["mean_return"]), number(row["interquartile_mean"]),
            interval, number(row["deviation"]), number(row["mean_length"]),
        )  # fmt: skip
    console().print(table)
    if len({row["paid_by"] for row in rows}) > 1:
        paid = ", ".join(f"{row['policy']} by {row['paid_by']}" for row in rows)
        print_note(f"returns are on different scales, not to be compared: {paid}")
    for row in rows:
        for name, value in row["metrics"].items():
            console().print(
                f"{row['policy']}: {name.replace('_', ' ')} {number(value)}", markup=False
            )
