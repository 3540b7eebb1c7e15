"""`foresail learn search`: a policy found by evolution over whole streams, beside a rule; writes its file at once."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.learn.environment_choice import pairs, run_folder
from foresail.learn.showing import card_lines
from foresail.output import console, print_json
from foresail.progress import doing_shares
from foresail.run_log import add_run, note, note_artifact
from lab.learning.export.export import write_policy
from lab.learning.jobs import JobStream
from lab.learning.libraries import library
from lab.learning.search.playing import LONGEST, SLOWDOWN, WAIT
from lab.learning.search.search import Found, SearchPlan, search
from lab.learning.search.writing import policy_of
from lab.learning.workloads.sources import SourceOptions, stream_source
from lab.learning.workloads.splits import Split
from projections.figures import number
from schemas.run import RunEvaluation
from services.learned_policy.file import SUFFIX

EXAMPLES = (
    ("learn search --workload lublin-256 --output lublin.policy", "then `learn gate` asks whether it may act"),
)  # fmt: skip
COUNTS = (
    "streams", "development_streams", "batch", "generations", "evaluate_every", "slots", "units", "threads"
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    plan = SearchPlan()
    parser.add_argument("--workload", default="uniform", metavar="NAME",
                        help="uniform, lublin-256, philly, surf ... (default: %(default)s)")  # fmt: skip
    parser.add_argument("--source", action="append", default=[], metavar="NAME=VALUE",
                        help="of the streams: count, length_seconds, first_hour; repeatable")  # fmt: skip
    parser.add_argument("--rule", default=plan.rule, metavar="NAME",
                        help="whose slowdown and waits are the measure (default: %(default)s)")  # fmt: skip
    for flag, default, says in (
        ("--streams", 3_000, "of the train split"),
        ("--development-streams", 512, "that choose the weights"),
        ("--batch", plan.batch, "streams that a generation plays"),
        ("--generations", plan.generations, "of the search"),
        ("--evaluate-every", plan.evaluate_every, "generations between two evaluations"),
        ("--slots", plan.slots, "jobs at the head of the queue that can be chosen"),
        ("--units", plan.units, "of the hidden layer"),
        ("--threads", os.cpu_count() or 1, "that play; the result is the same for any number"),
    ):
        parser.add_argument(flag, type=int, default=default, metavar="N",
                            help=f"{says} (default: %(default)s)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=plan.seed, metavar="N",
                        help="of the search (default: %(default)s)")  # fmt: skip
    parser.add_argument(
        "--output", metavar="FILE", help=f"default: WORKLOAD{SUFFIX} beside the runs"
    )
    add_run(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Search, and write what was best on the development split.

    Raises:
        InputError: a value, the workload or the extra cannot be used.
    """
    for flag in COUNTS:
        if getattr(arguments, flag) < 1:
            name = f"--{flag.replace('_', '-')}"
            raise InputError(name, getattr(arguments, flag), "give 1 or more")
    if arguments.seed < 0:
        raise InputError("--seed", arguments.seed, "give 0 or more")
    for needed in ("cmaes", "numba"):
        library(needed)
    plan = SearchPlan(
        arguments.rule, arguments.slots, arguments.units, arguments.batch, arguments.generations,
        arguments.evaluate_every, seed=arguments.seed,
    )  # fmt: skip
    options = pairs("--source", arguments.source)
    train = _streams(arguments.workload, "train", options, arguments.streams)
    development = _streams(
        arguments.workload, "development", options, arguments.development_streams
    )
    with doing_shares("searching") as progress:

        def report(found: Found) -> None:
            progress(_words(found), found.generation / plan.generations)
            note(
                RunEvaluation, policy=arguments.workload, seed=plan.seed, steps=found.generation,
                value=found.cost, better="lower",
            )  # fmt: skip

        best = search(train, development, plan, arguments.threads, report)
    output = _output(arguments)
    name = output.name.removesuffix(SUFFIX)
    policy = policy_of(best, plan, name, arguments.workload, options)
    size = write_policy(policy, output)
    note_artifact(output, "model")
    if arguments.json:
        card = policy.card.model_dump(mode="json")
        print_json({"file": str(output), "bytes": size, "cost": best.cost, "card": card})
    else:
        out = console()
        out.print(f"{output}: {size} bytes", markup=False, soft_wrap=True)
        out.print(f"development split: {_words(best)}", markup=False, soft_wrap=True)
        out.print("\n".join(card_lines(policy.card)), markup=False, soft_wrap=True)
    return ExitCode.GOOD


def _streams(workload: str, split: Split, given: dict[str, object], count: int) -> list[JobStream]:
    data = os.environ.get("FORESAIL_DATA")
    try:
        options = SourceOptions(split=split, data_dir=Path(data) if data else None, **given)  # type: ignore[arg-type]
    except TypeError as error:
        raise InputError("--source", given, str(error)) from error
    source = stream_source(workload, options)
    return [source(seed) for seed in range(count)]


def _output(arguments: argparse.Namespace) -> Path:
    if arguments.output is None:
        return run_folder(arguments.workload.replace("/", "-")).with_suffix(SUFFIX)
    if not arguments.output.endswith(SUFFIX):
        raise InputError("--output", arguments.output, f"let its name end with {SUFFIX}")
    return Path(arguments.output)


def _words(found: Found) -> str:
    figures, cost = found.figures, number(found.cost)
    return (
        f"generation {found.generation}: cost {cost} of the rule's, slowdown {number(figures[SLOWDOWN])}, "
        f"wait {number(figures[WAIT] / 60)} min, longest {number(figures[LONGEST] / 3_600)} h"
    )
