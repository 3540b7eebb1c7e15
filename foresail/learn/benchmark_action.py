"""`foresail learn benchmark`: policies and simple rules on the same streams, and whether learning was worth it."""

from __future__ import annotations

import argparse
import math
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.html_page import render, write_page
from foresail.learn.environment_choice import pairs, run_folder
from foresail.output import console, page, print_json
from foresail.progress import doing_shares
from lab.learning.comparison.benchmark import Arm, Played, benchmark, rule_arms
from lab.learning.comparison.contestants import exported, is_exported, learned_arm, trained
from lab.learning.comparison.judgement import (
    WorkloadJudgement,
    best_rule,
    judge_workload,
    statement,
    totals,
)
from lab.learning.comparison.report import Report
from lab.learning.workloads.sources import SourceOptions, stream_source
from lab.learning.workloads.splits import Split
from schemas.wording import count_text

EXAMPLES = (
    ("learn benchmark --workload lublin-256 lublin-policy --html report.html", "every seed of a run beside the rules"),
    ("learn benchmark --workload uniform", "the rules alone; needs no learning library"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("policies", nargs="*", metavar="POLICY",
                        help="names of `learn train`, or files of `learn export`")  # fmt: skip
    add_workloads(parser)
    parser.add_argument("--html", metavar="FILE", help="write the report as a page")
    parser.add_argument("--markdown", metavar="FILE", help="write it as Markdown")


def add_workloads(parser: argparse.ArgumentParser) -> None:
    """Add which jobs are played."""
    parser.add_argument("--workload", action="append", metavar="NAME",
                        help="uniform, lublin-256, philly, surf ...; repeatable (default: uniform)")  # fmt: skip
    parser.add_argument("--source", action="append", default=[], metavar="NAME=VALUE",
                        help="of the streams: count, length_seconds, first_hour; repeatable")  # fmt: skip
    parser.add_argument("--streams", type=int, default=20, metavar="N",
                        help="of each split (default: %(default)s)")  # fmt: skip
    parser.add_argument("--rule-seeds", type=int, default=5, metavar="N",
                        help="of rules that draw (default: %(default)s)")  # fmt: skip
    parser.add_argument("--until", type=float, default=math.inf, metavar="SECONDS",
                        help="end each stream then (default: when no job is left)")  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Play and judge; raises InputError where a policy or a workload cannot be used."""
    judgements = judged_workloads(arguments, [_learned(word) for word in arguments.policies])
    report = Report(judgements, _about(arguments))
    if arguments.markdown is not None:
        write_page(Path(arguments.markdown), report.markdown(), "--markdown")
    if arguments.html is not None:
        write_page(Path(arguments.html), _page(report))
    if arguments.json:
        print_json(_described(judgements))
    else:
        _print(report)
    return ExitCode.GOOD


def judged_workloads(
    arguments: argparse.Namespace, learned: Sequence[Arm]
) -> list[WorkloadJudgement]:
    """Play rules and learned arms on every workload, and judge; raises InputError where one cannot be used."""
    for flag in ("streams", "rule_seeds"):
        if getattr(arguments, flag) < 1:
            raise InputError(
                f"--{flag.replace('_', '-')}", getattr(arguments, flag), "give 1 or more"
            )
    workloads = arguments.workload or ["uniform"]
    rules = rule_arms(arguments.rule_seeds)
    judgements = []
    with doing_shares("playing") as progress:
        for place, name in enumerate(workloads):
            progress(name, place / len(workloads))
            judgements.append(_judged(name, rules, learned, arguments))
    return judgements


def _learned(word: str) -> Arm:
    if is_exported(word):
        one = exported(Path(word))
        return learned_arm(one.name, [one])
    folder = run_folder(word)
    return learned_arm(folder.name, list(trained(folder)))


def _judged(
    name: str, rules: Sequence[Arm], learned: Sequence[Arm], arguments: argparse.Namespace
) -> WorkloadJudgement:
    development = _played(name, "development", rules, arguments)
    test = _played(name, "test", [*rules, *learned], arguments)
    return judge_workload(name, best_rule(development), test, seed=0)


def _played(
    name: str, split: Split, arms: Sequence[Arm], arguments: argparse.Namespace
) -> list[Played]:
    data = os.environ.get("FORESAIL_DATA")
    given = pairs("--source", arguments.source)
    try:
        options = SourceOptions(split=split, data_dir=Path(data) if data else None, **given)
    except TypeError as error:
        raise InputError("--source", arguments.source, str(error)) from error
    source = stream_source(name, options)
    streams = [source(seed) for seed in range(arguments.streams)]
    return list(benchmark(arms, streams, arguments.until))


def _about(arguments: argparse.Namespace) -> list[str]:
    words = " ".join(
        [*arguments.policies, *(f"--workload {name}" for name in arguments.workload or ["uniform"])]
    )
    return [
        f"foresail learn benchmark {words} --streams {arguments.streams} --rule-seeds {arguments.rule_seeds}",
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "Streams 0 onwards of each split; the fast simulator's model of Kueue, in plain Python.",
    ]


def _page(report: Report) -> str:
    return render(
        "learned.html",
        title="Learned admission beside simple rules",
        statement=statement(report.judgements),
        about=report.about,
        sections=report.sections(),
        result=_described(report.judgements),
    )


def _described(judgements: Sequence[WorkloadJudgement]) -> dict[str, Any]:
    return {
        "statement": statement(judgements),
        "workloads": [
            {
                "workload": one.workload,
                "streams": one.streams,
                "best_rule": one.best_rule,
                "arms": [
                    {
                        "arm": standing.played.arm.name,
                        "learned": standing.played.arm.learned,
                        "seeds": len(standing.played.arm.seeds),
                        "mean": [standing.mean.value, standing.mean.low, standing.mean.high],
                        "gain": None if (gain := standing.gain) is None else [gain.value, gain.low, gain.high],
                        "totals": totals(standing),
                    }
                    for standing in one.standings
                ],
            }
            for one in judgements
        ],
    }  # fmt: skip


def _print(report: Report) -> None:
    from rich.table import Table  # noqa: PLC0415 - only here

    for section in report.sections():
        if section.kind != "effect":
            continue
        table = Table(box=None, title=f"{section.title}: {section.about}", title_justify="left")
        shown = (0, 1, 2, 3, 5, 7, 8, 9, 10)
        for place in shown:
            table.add_column(section.table.columns[place])
        for row in section.table.rows:
            table.add_row(*(row[place] for place in shown))
        page().print(table)
    for line in statement(report.judgements):
        console().print(line, markup=False)
    console().print(f"{count_text(len(report.judgements), 'workload')} played", markup=False)
