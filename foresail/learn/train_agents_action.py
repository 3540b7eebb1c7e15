"""`foresail learn train-agents`: the three agents together, by RLlib's PPO, a policy each or one for all."""

from __future__ import annotations

import argparse

from bus.exit_codes import ExitCode
from foresail.learn.environment_choice import pairs, run_folder
from foresail.run_log import add_run
from lab.learning.libraries import library
from lab.learning.multi_agent.plan import CURRICULA, AgentsPlan, stage_of

EXAMPLES = (
    ("learn train-agents --policies shared --name agents-shared", "one policy for A, B and C"),
    ("learn train-agents --curriculum baseline --env-argument nodes=4", "the predecessors' two stages"),
    ("learn train-agents --stage train_iters=40,learning_rate=0.001,train_batch_size=240 --workers 2",
     "stages of your own, worlds in two processes"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--policies", choices=("separate", "shared"), default="separate",
                        help="one for each agent, or one for all (default: %(default)s)")  # fmt: skip
    parser.add_argument("--curriculum", choices=tuple(CURRICULA), default="foresail",
                        help="stages of training (default: %(default)s)")  # fmt: skip
    parser.add_argument("--stage", action="append", default=[], metavar="NAME=VALUE,...",
                        help="a stage instead of the curriculum's: train_iters, learning_rate, train_batch_size, "
                        "minibatch_size, num_epochs, rollout_fragment_length; repeatable")  # fmt: skip
    parser.add_argument("--env-argument", action="append", default=[], metavar="NAME=VALUE",
                        help="of Foresail/Agents-v1: variant, reward, workload, nodes, steps; repeatable")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    parser.add_argument("--name", default="agents", metavar="NAME",
                        help="of the folder in the workspace, or a path (default: %(default)s)")  # fmt: skip
    parser.add_argument("--workers", type=int, default=0, metavar="N",
                        help="processes that play worlds (default: this one does)")  # fmt: skip
    parser.add_argument("--ray-address", metavar="HOST:PORT",
                        help="head of the Ray cluster that plays them (default: this machine alone)")  # fmt: skip
    parser.add_argument("--episodes", type=int, default=20, metavar="N",
                        help="of the test, which nothing was chosen by (default: %(default)s)")  # fmt: skip
    parser.add_argument("--states", type=int, default=100_000, metavar="N",
                        help="on how many the files are compared with RLlib (default: %(default)s)")  # fmt: skip
    add_run(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Train, export a file for each agent, and play them beside rules and chance.

    Raises:
        InputError: a value or the extra cannot be used, or a file would act otherwise than RLlib.
    """
    stages = tuple(map(stage_of, arguments.stage)) or CURRICULA[arguments.curriculum]
    for name in ("gymnasium", "pettingzoo", "torch"):
        library(name)
    # gymnasium and torch, which no other action waits for.
    from foresail.learn.agents_training import AgentsRun, train_and_judge  # noqa: PLC0415

    plan = AgentsPlan(
        arguments.policies,
        stages,
        arguments.seed,
        world=pairs("--env-argument", arguments.env_argument),
    )
    asked = AgentsRun(
        plan,
        run_folder(arguments.name),
        arguments.workers,
        arguments.ray_address,
        arguments.episodes,
        arguments.states,
    )
    return train_and_judge(asked, as_json=arguments.json)
