"""Which jobs policies and rules are compared on, and playing what of it has not been played."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bus.errors import InputError
from foresail.learn.environment_choice import pairs
from foresail.progress import doing_shares
from inputs.clock import SystemClock
from lab.learning.comparison.benchmark import Arm, rule_arms
from lab.learning.comparison.compare import Comparison
from lab.learning.comparison.judgement import WorkloadJudgement
from lab.learning.comparison.plays import Plays, Round
from lab.learning.jobs import JobStream
from lab.learning.workloads.sources import SourceOptions, settings_of, stream_source
from lab.learning.workloads.splits import Split
from schemas.wording import count_text


@dataclass(frozen=True, slots=True)
class Part:
    """How much of a comparison this process plays."""

    place: int = 0
    count: int = 1
    seconds: float = math.inf
    """No further stream is begun after so long."""


WHOLE = Part()


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of it."""

    judgements: list[WorkloadJudgement]
    missing: list[str]
    """Workloads that are not played to their end, with how far they are."""


def add_workloads(parser: argparse.ArgumentParser) -> None:
    """Add which jobs are played."""
    parser.add_argument("--workload", action="append", metavar="NAME",
                        help="uniform, lublin-256, philly, surf ...; repeatable (default: uniform)")  # fmt: skip
    parser.add_argument("--source", action="append", default=[], metavar="NAME=VALUE",
                        help="of streams: count, length_seconds, first_hour, settings=FILE; repeatable")  # fmt: skip
    parser.add_argument("--streams", type=int, default=20, metavar="N",
                        help="of each split (default: %(default)s)")  # fmt: skip
    parser.add_argument("--rule-seeds", type=int, default=5, metavar="N",
                        help="of rules that draw (default: %(default)s)")  # fmt: skip
    parser.add_argument("--until", type=float, default=math.inf, metavar="SECONDS",
                        help="end each stream then (default: when no job is left)")  # fmt: skip


def workloads_of(arguments: argparse.Namespace) -> list[str]:
    """Return the names of the workloads that are played."""
    return arguments.workload or ["uniform"]


def part_of(shard: str | None, seconds: float | None) -> Part:
    """Return how much is played; raises InputError where a shard is not K/N with K from 1 to N."""
    limit = math.inf if seconds is None else seconds
    if shard is None:
        return Part(seconds=limit)
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", shard)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise InputError("--shard", shard, "write K/N with K from 1 to N, such as 1/2")
    return Part(int(found[1]) - 1, int(found[2]), limit)


def compare(
    arguments: argparse.Namespace,
    learned: Sequence[Arm],
    folder: Path | None = None,
    part: Part = WHOLE,
) -> Compared:
    """Play what is missing, and judge every workload that is played to its end.

    Raises:
        InputError: a number, a policy or a workload cannot be used.
    """
    comparisons = _comparisons(arguments, learned)
    plays, clock = Plays(folder), SystemClock()
    deadline = clock.monotonic() + part.seconds
    rounds = [one for each in comparisons for one in each.rounds()]
    mine = rounds[part.place :: part.count]
    total = sum(len(one.streams) for one in mine)
    with doing_shares("playing") as progress:
        done = total - sum(len(plays.missing(one)) for one in mine)
        for one in mine:
            for _ in plays.play(one, lambda: clock.monotonic() < deadline):
                done += 1
                progress(one.where, done / total)
    judgements, missing = [], []
    for each in comparisons:
        judged = each.judged(plays)
        if judged is None:
            missing.append(_how_far(each.workload, each.rounds(), plays))
        else:
            judgements.append(judged)
    return Compared(judgements, missing)


def _comparisons(arguments: argparse.Namespace, learned: Sequence[Arm]) -> list[Comparison]:
    for flag in ("streams", "rule_seeds"):
        if getattr(arguments, flag) < 1:
            name = f"--{flag.replace('_', '-')}"
            raise InputError(name, getattr(arguments, flag), "give 1 or more")
    rules = rule_arms(arguments.rule_seeds)
    names = [arm.name for arm in (*rules, *learned)]
    for name in names:
        if names.count(name) > 1:
            remedy = "a rule or another policy has this name; train or export it under another"
            raise InputError("POLICY", name, remedy)
    return [
        Comparison(
            name, rules, learned, _streams(name, "development", arguments), _streams(name, "test", arguments),
            arguments.until,
        )
        for name in dict.fromkeys(workloads_of(arguments))
    ]  # fmt: skip


def _streams(name: str, split: Split, arguments: argparse.Namespace) -> list[JobStream]:
    data = os.environ.get("FORESAIL_DATA")
    given = pairs("--source", arguments.source)
    if "settings" in given:
        given["settings"] = settings_of(given["settings"])
    try:
        options = SourceOptions(split=split, data_dir=Path(data) if data else None, **given)
    except TypeError as error:
        raise InputError("--source", arguments.source, str(error)) from error
    source = stream_source(name, options)
    return [source(seed) for seed in range(arguments.streams)]


def _how_far(workload: str, rounds: Sequence[Round], plays: Plays) -> str:
    total = sum(len(one.streams) for one in rounds)
    missing = sum(len(plays.missing(one)) for one in rounds)
    return f"{workload} ({total - missing:,} of {count_text(total, 'stream')})"
