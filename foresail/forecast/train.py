"""Train a model of risk on a dataset: boosted trees for each horizon, baselines, calibration; or of demand on own data.

Rows before the cut (60 % of the largest segment's time) are learnt from, the later ones never
touched. The model directory appears whole; an interrupted run goes on at its first horizon that was
not finished. Equal data and options give equal bytes.

`--task demand` learns quantiles of what comes in 5 to 60 minutes from recordings, windows in the common schema and
tables of rates, as the shipped model of rates did; `inference.rate_model` and `forecast backtest` take it.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.forecast._cost import cost, cost_text
from foresail.forecast._demand_task import (
    DEFAULT_NAME,
    about_training,
    add_sources,
    add_task,
    refuse_foreign,
    train_demand,
)
from foresail.forecast._horizons import horizons_of
from foresail.forecast.evaluate import model_name
from foresail.output import console, print_json
from foresail.progress import doing_shares
from foresail.run_log import note_artifact
from foresail.workspace import workspace
from lab.forecast.builds import MANIFEST, sha256_of
from lab.forecast.dataset import open_dataset
from lab.forecast.rates.training import Size
from lab.forecast.risk.booster_profiles import PROFILES, BoosterProfile, booster_parameters
from lab.forecast.risk.boosting import BY_NAME
from lab.forecast.risk.options import Options
from lab.forecast.risk.run_training import TrainedModel, train_model
from lab.forecast.risk.source import DatasetSource
from lab.forecast.risk.splits import TRAIN_SHARE
from projections.figures import known_number, number, percent
from schemas.wording import count_text

RISK_ALONE = ("dataset", "horizon", "member", "thorough", "refit", "illusion")
DEMAND_ALONE = ("recording", "windows", "rates")
"""Flags of one task."""
DEEPEST = 16
"""Levels of a tree; each further one doubles its size."""
EXAMPLES = (
    ("forecast train --dataset mine --horizon 15m", "one horizon"),
    ("forecast train --task demand --recording run.fslog --name mine", "demand, of a recorded run"),
    (
        "forecast train --dataset mine --booster regularized_balanced --rounds 200",
        "another booster",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    defaults = Options()
    add_task(parser)
    parser.add_argument("--dataset", metavar="NAME", help="name of a dataset, for --task risk")
    add_sources(parser)
    parser.add_argument(
        "--horizon",
        action="append",
        metavar="DURATION",
        help="5m, 15m, 30m, 45m, 60m or all; repeatable (default: the dataset's own)",
    )
    parser.add_argument(
        "--name",
        metavar="NAME",
        help=f"the model's name (default: the dataset's; of demand {DEFAULT_NAME})",
    )
    parser.add_argument(
        "--train-share",
        type=float,
        default=TRAIN_SHARE,
        metavar="SHARE",
        help="fraction of the largest segment's time to train on (default: %(default)s)",
    )
    parser.add_argument(
        "--member",
        action="append",
        choices=tuple(BY_NAME),
        help="a member of the ensemble; repeatable (default: four of them)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        metavar="N",
        help=f"trees per member (default: {defaults.rounds})",
    )
    _add_booster(parser)
    parser.add_argument(
        "--seed",
        type=int,
        default=defaults.seed,
        metavar="N",
        help="random seed of the training (default: %(default)s)",
    )
    parser.add_argument(
        "--thorough", action="store_true", help="twice the trees, and train on every negative row"
    )
    parser.add_argument(
        "--refit",
        action="store_true",
        help="learn from every row once the folds have been judged; no later row is left to evaluate by",
    )
    parser.add_argument(
        "--illusion",
        action="store_true",
        help="split rows at random, to show how good a leaking split looks; labelled as such everywhere",
    )


def _add_booster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--booster",
        choices=tuple(PROFILES),
        help="parameters of every member, as one of the predecessors' four profiles has them; with --rounds, "
        "else the profile's own number of trees (default: each member's own)",
    )
    parser.add_argument("--depth", type=int, metavar="N", help="levels of every tree")
    parser.add_argument("--learning-rate", type=float, metavar="X", help="above 0, at most 1")
    parser.add_argument(
        "--subsample", type=float, metavar="SHARE", help="rows that each tree is grown on, above 0"
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Train."""
    if arguments.task == "demand":
        return _train_demand(arguments)
    place = workspace()
    refuse_foreign(arguments, DEMAND_ALONE)
    if not arguments.dataset:
        raise InputError("--dataset", "nothing", "name a dataset, or give --task demand")
    dataset = open_dataset(arguments.dataset, place)
    options = options_of(arguments)
    if dataset.anchor == "hazard":
        options = options.of_every_age()
    horizons = horizons_of(arguments.horizon, dataset.choice.horizon_minutes)
    name = arguments.name or model_name(dataset.name)
    if options.illusion and not name.endswith("illusion"):
        name = f"{name}-illusion"
    with doing_shares("training") as progress:
        trained = train_model(
            DatasetSource(dataset),
            place.models / name,
            horizons,
            options,
            sha256_of(dataset.folder / MANIFEST),
            progress,
        )
    note_artifact(place.models / name, "model")
    if arguments.json:
        print_json({**_describe(trained), **cost()})
    else:
        _print(trained, console())
        console().print(cost_text())
    return ExitCode.GOOD


def _train_demand(arguments: argparse.Namespace) -> ExitCode:
    refuse_foreign(arguments, RISK_ALONE)
    profile = PROFILES.get(arguments.booster or "")
    rounds = arguments.rounds or (Size().rounds if profile is None else profile.n_estimators)
    if rounds < 1:
        raise InputError("--rounds", rounds, "give 1 or more")
    size = Size(rounds=rounds, chosen=_chosen(arguments, profile))
    manifest = train_demand(arguments, size, workspace())
    if arguments.json:
        print_json({"model_id": manifest.model_id, "rows": manifest.data.rows, **cost()})
    else:
        tables = manifest.data.dataset.count(",") + 1
        console().print(about_training(manifest, tables), markup=False)
        console().print(cost_text())
    return ExitCode.GOOD


def options_of(arguments: argparse.Namespace) -> Options:
    """Return how to train.

    Raises:
        InputError: a number makes no sense.
    """
    profile = PROFILES.get(arguments.booster or "")
    rounds = arguments.rounds
    if rounds is None:
        rounds = Options().rounds if profile is None else profile.n_estimators
    if rounds < 1:
        raise InputError("--rounds", rounds, "give 1 or more")
    if arguments.seed < 0:
        raise InputError("--seed", arguments.seed, "give 0 or more")
    options = Options(
        train_share=arguments.train_share,
        illusion=arguments.illusion,
        refit=arguments.refit,
        rounds=rounds,
        seed=arguments.seed,
        chosen=_chosen(arguments, profile),
    )
    if arguments.member:
        options = replace(options, members=tuple(dict.fromkeys(arguments.member)))
    return options.thorough() if arguments.thorough else options


def _chosen(
    arguments: argparse.Namespace, profile: BoosterProfile | None
) -> tuple[tuple[str, float], ...]:
    """Return the boosters' parameters that were asked for: the profile's, then single ones; raises as `options_of`."""
    chosen = {} if profile is None else booster_parameters(profile)
    if arguments.depth is not None:
        if not 1 <= arguments.depth <= DEEPEST:
            raise InputError("--depth", arguments.depth, f"give 1 to {DEEPEST}")
        chosen["max_depth"] = arguments.depth
    for flag, name in (("learning_rate", "eta"), ("subsample", "subsample")):
        value = getattr(arguments, flag)
        if value is not None:
            if not 0.0 < value <= 1.0:
                shown = f"--{flag.replace('_', '-')}"
                raise InputError(shown, value, "give a number above 0 and at most 1")
            chosen[name] = value
    return tuple(sorted(chosen.items()))


def _describe(trained: TrainedModel) -> dict[str, Any]:
    manifest = trained.manifest
    return {
        "model_id": manifest.model_id,
        "horizons_seconds": manifest.horizons_seconds,
        "data": manifest.data.model_dump(mode="json"),
        "thresholds": manifest.thresholds,
        "budgets": manifest.budgets,
        "folds": manifest.metrics["folds"],
        "resumed": [run.minutes for run in trained.runs if run.resumed],
    }


def _print(trained: TrainedModel, out: Console) -> None:
    manifest = trained.manifest
    data = manifest.data
    if manifest.metrics["illusion"]:
        out.print("[bold red]ILLUSION: rows drawn at random; believe none of its figures[/]")
    out.print(
        f"{manifest.model_id}: {count_text(data.rows, 'row')}, {count_text(data.positives, 'positive')} "
        f"({percent(data.prevalence)}); {data.split}"
    )
    table = Table(box=None)
    for head in ("horizon", "folds' AP", "AP, unseen jobs", "Brier skill", "logistic", "chosen"):
        table.add_column(head)
    for run_ in trained.runs:
        one = manifest.metrics["folds"][str(run_.minutes)]
        steps = run_.trained.logistic
        table.add_row(
            f"{run_.minutes} min" + (" (kept)" if run_.resumed else ""),
            known_number(one["average_precision"]),
            known_number(one["average_precision_unseen_jobs"]),
            known_number(one["brier_skill"]),
            f"{count_text(steps.steps, 'step')}, {'converged' if steps.converged else 'NOT converged'}",
            one["chosen"],
        )
    out.print(table)
    for name, value in manifest.thresholds["safety"].items():
        of_what = manifest.metrics["thresholds_of"]
        out.print(
            f"{name} = {number(value)} for {percent(manifest.budgets[name])} of {of_what} a cycle"
        )
