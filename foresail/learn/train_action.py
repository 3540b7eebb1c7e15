"""`foresail learn train`: one or several seeds of one algorithm, kept so that they can go on."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from statistics import fmean
from typing import Any

from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.learn.curve_notes import CurveNotes
from foresail.learn.environment_choice import add_environment, pairs, run_folder
from foresail.output import console, print_json
from foresail.progress import doing_shares
from foresail.run_log import add_run
from lab.learning.libraries import NEEDED, library
from lab.learning.training.curves import CurvePoint, curve
from lab.learning.training.environments import make_environment
from lab.learning.training.learners import accepted_values, check_spaces
from lab.learning.training.plan import Plan
from lab.learning.training.recipes import PRESETS, algorithm_named, recipe, with_values
from lab.learning.training.run import read_curve
from lab.learning.training.tasks import Finished, run_seeds, seed_folder, seed_tasks
from projections.figures import duration, number

EXAMPLES = (
    ("learn train --algorithm PPO", "SKRueue's PPO: its environment, hyper-parameters and 20,000 steps"),
    ("learn train --algorithm MaskablePPO --preset foresail --env-argument variant=score --seeds 5", "ours"),
    ("learn train --env CartPole-v1 --algorithm PPO --preset reference", "check the learner itself"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_environment(parser)
    parser.add_argument("--algorithm", default="DQN", metavar="NAME",
                        help="DQN, PPO, A2C, MaskablePPO, SAC or TD3 (default: %(default)s)")  # fmt: skip
    parser.add_argument("--preset", choices=PRESETS, default="skrueue",
                        help="hyper-parameters, network and steps (default: %(default)s)")  # fmt: skip
    parser.add_argument("--timesteps", type=int, metavar="N", help="instead of the preset's steps")
    parser.add_argument("--environments", type=int, metavar="N",
                        help="stepped side by side, instead of the preset's number")  # fmt: skip
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="a hyper-parameter instead of the preset's; repeatable")  # fmt: skip
    parser.add_argument("--name", metavar="NAME",
                        help="of the folder in the workspace, or a path (default: preset and algorithm)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="first seed (default: 0)")
    parser.add_argument("--seeds", type=int, default=1, metavar="N",
                        help="how many seeds are trained (default: 1)")  # fmt: skip
    parser.add_argument("--workers", type=int, default=1, metavar="N",
                        help="seeds trained at the same time (default: 1)")  # fmt: skip
    parser.add_argument("--ray-address", metavar="HOST:PORT",
                        help="train on the Ray cluster with this head; `local`: one of this machine alone")  # fmt: skip
    group = parser.add_argument_group("development split")
    group.add_argument("--development-argument", action="append", default=[], metavar="NAME=VALUE",
                       help="what the environment is made with to choose the best weights; repeatable")  # fmt: skip
    group.add_argument("--evaluate-every", type=int, default=5_000, metavar="N",
                       help="steps between two evaluations (default: %(default)s)")  # fmt: skip
    group.add_argument("--development-episodes", type=int, default=20, metavar="N",
                       help="episodes of one (default: %(default)s)")  # fmt: skip
    group.add_argument("--patience", type=int, default=0, metavar="N",
                       help="end after so many evaluations without a better one (default: never)")  # fmt: skip
    parser.add_argument("--checkpoint-every", type=int, default=50_000, metavar="N",
                        help="steps between two checkpoints (default: %(default)s)")  # fmt: skip
    parser.add_argument("--normalise", action="store_true",
                        help="bring observations to mean 0 and deviation 1, as seen in training")  # fmt: skip
    parser.add_argument("--imitate", default="", metavar="RULE",
                        help="bring the policy to what this rule does before it learns, such as sjf+fit")  # fmt: skip
    parser.add_argument("--no-mask", action="store_true",
                        help="tell no policy which actions may be taken, to see what the mask is worth")  # fmt: skip
    add_run(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Train, and show how each seed ended and the curve over all.

    Raises:
        InputError: a value, the environment or the extra cannot be used.
    """
    for name in NEEDED:
        library(name)
    plan = plan_of(arguments)
    seeds = range(arguments.seed, arguments.seed + arguments.seeds)
    name = arguments.name or f"{plan.recipe.preset}-{plan.recipe.algorithm}".lower()
    folder = run_folder(name)
    notes = CurveNotes(name, folder, seeds)
    with doing_shares("training") as progress:

        def report(share: float) -> None:
            progress("training", share)
            notes.tell()

        finished = sorted(
            run_seeds(
                seed_tasks(plan, seeds, folder), arguments.workers, arguments.ray_address,
                report,
            ),
            key=lambda one: one.seed,
        )  # fmt: skip
    notes.tell()
    points = curve([read_curve(seed_folder(folder, one.seed)) for one in finished])
    if arguments.json:
        print_json(_describe(plan, str(folder), finished, points))
    else:
        _print(plan, str(folder), finished, points)
    return ExitCode.GOOD


def plan_of(arguments: argparse.Namespace) -> Plan:
    """Return what the arguments ask for.

    Raises:
        InputError: a number makes no sense, or environment and algorithm do not fit.
    """
    for flag in ("seeds", "workers", "evaluate_every", "development_episodes", "checkpoint_every"):
        if getattr(arguments, flag) < 1:
            raise InputError(
                f"--{flag.replace('_', '-')}", getattr(arguments, flag), "give 1 or more"
            )
    for flag in ("seed", "patience"):
        if getattr(arguments, flag) < 0:
            raise InputError(f"--{flag}", getattr(arguments, flag), "give 0 or more")
    algorithm = algorithm_named(arguments.algorithm)
    made_with = pairs("--env-argument", arguments.env_argument)
    environment = make_environment(arguments.env, made_with)
    check_spaces(algorithm, environment)
    observations = int(environment.observation_space.shape[0])
    environment.close()
    chosen = recipe(arguments.preset, algorithm, observations)
    chosen = with_values(chosen, arguments.set, accepted_values(algorithm))
    for flag, field in (("timesteps", "steps"), ("environments", "environments")):
        value = getattr(arguments, flag)
        if value is not None and value < 1:
            raise InputError(f"--{flag}", value, "give 1 or more")
        chosen = replace(chosen, **({field: value} if value is not None else {}))
    return Plan(
        environment=arguments.env,
        recipe=chosen,
        seed=arguments.seed,
        arguments=made_with,
        development=pairs("--development-argument", arguments.development_argument),
        evaluate_every=arguments.evaluate_every,
        development_episodes=arguments.development_episodes,
        patience=arguments.patience,
        checkpoint_every=arguments.checkpoint_every,
        normalise=arguments.normalise,
        masked=not arguments.no_mask,
        imitates=arguments.imitate,
    )


def _describe(
    plan: Plan, folder: str, finished: Sequence[Finished], points: Sequence[CurvePoint]
) -> dict[str, Any]:
    return {
        "folder": folder,
        "plan": plan.as_json(),
        "seeds": [{"seed": one.seed, **asdict(one.outcome)} for one in finished],
        "curve": [asdict(point) for point in points],
    }


def _print(
    plan: Plan, folder: str, finished: Sequence[Finished], points: Sequence[CurvePoint]
) -> None:
    out = console()
    out.print(f"{plan.recipe.algorithm} ({plan.recipe.preset}) in {plan.environment}: {folder}",
              markup=False)  # fmt: skip
    table = Table(box=None)
    for head in ("seed", "steps", "took", "CPU", "best return", "at step", ""):
        table.add_column(head)
    for one in finished:
        outcome = one.outcome
        notes = ["ended early"] * outcome.stopped_early
        notes += [f"resumed {outcome.resumed} times"] * bool(outcome.resumed)
        table.add_row(
            str(one.seed), str(outcome.steps), duration(outcome.seconds),
            duration(outcome.cpu_seconds), number(outcome.best_return), str(outcome.best_steps),
            ", ".join(notes),
        )  # fmt: skip
    out.print(table)
    curve_table = Table(box=None, title="development split, over seeds", title_justify="left")
    for head in ("steps", "seeds", "mean return", "interquartile mean", "95 % interval"):
        curve_table.add_column(head)
    for point in points:
        middle = point.interquartile
        interval = (
            f"{number(middle.low)} to {number(middle.high)}"
            if point.seeds > 1
            else "one seed: none"
        )
        curve_table.add_row(
            str(point.steps), str(point.seeds), number(point.mean), number(middle.value), interval
        )
    out.print(curve_table)
    best = fmean(one.outcome.best_return for one in finished)
    out.print(f"best weights: {number(best)} on the development split, which chose them")
