"""`foresail learn export`: one small file, compared with the framework on the states that the policy meets."""

from __future__ import annotations

import argparse
from pathlib import Path

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.learn.environment_choice import run_folder
from foresail.learn.showing import card_lines
from foresail.output import console, print_json
from lab.learning.export.agreement import STATES
from lab.learning.export.export import export_run, write_policy
from lab.learning.libraries import NEEDED, library
from lab.learning.training.run import read_outcome
from services.learned_policy.file import SUFFIX

EXAMPLES = (
    ("learn export skrueue-ppo --output ppo.policy", "the seed best on the development split"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("run", metavar="NAME", help="of `learn train`, or a folder")
    parser.add_argument("--seed", type=int, metavar="N",
                        help="which seed (default: the best on the development split)")  # fmt: skip
    parser.add_argument("--output", metavar="FILE", help=f"default: NAME{SUFFIX} beside the runs")
    parser.add_argument("--states", type=int, default=STATES, metavar="N",
                        help="on how many states it is compared (default: %(default)s)")  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Export.

    Raises:
        InputError: the extra or the run is missing, or the policy cannot be written in whole numbers.
    """
    for name in NEEDED:
        library(name)
    if arguments.states < 1:
        raise InputError("--states", arguments.states, "give 1 or more")
    folder = run_folder(arguments.run)
    seed = chosen_seed(folder, arguments.seed)
    policy = export_run(seed, folder.name, arguments.states)
    output = Path(arguments.output) if arguments.output else folder.with_suffix(SUFFIX)
    size = write_policy(policy, output)
    if arguments.json:
        print_json(
            {"file": str(output), "bytes": size, "card": policy.card.model_dump(mode="json")}
        )
    else:
        console().print(f"{output}: {size} bytes", markup=False, soft_wrap=True)
        console().print("\n".join(card_lines(policy.card)), markup=False, soft_wrap=True)
    return ExitCode.GOOD


def chosen_seed(folder: Path, seed: int | None) -> Path:
    """Return the folder of a seed's run: the one asked for, else the best on the development split.

    Raises:
        InputError: there is no such run, or none has ended.
    """
    runs = {int(path.name.partition("-")[2]): path for path in folder.glob("seed-*")}
    if seed is not None:
        if seed not in runs:
            trained = ", ".join(map(str, sorted(runs))) or "none"
            raise InputError("--seed", seed, f"trained are: {trained}")
        return runs[seed]
    ended = {
        number: outcome.best_return
        for number, path in runs.items()
        if (outcome := read_outcome(path)) is not None
    }
    if not ended:
        raise InputError("run", folder, "no seed's training has ended there; `learn train` first")
    return runs[max(ended, key=lambda number: (ended[number], -number))]
