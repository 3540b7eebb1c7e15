"""`foresail learn benchmark`: policies and simple rules on the same streams, and whether learning was worth it."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.flags import seconds
from foresail.html_page import render, write_page
from foresail.learn.comparing import add_workloads, compare, part_of, workloads_of
from foresail.learn.environment_choice import run_folder
from foresail.learn.report_plots import plots_of
from foresail.output import console, page, print_json
from lab.learning.comparison.ablations import ablations
from lab.learning.comparison.benchmark import Arm
from lab.learning.comparison.contestants import exported, is_exported, learned_arm, trained
from lab.learning.comparison.judgement import totals
from lab.learning.comparison.overall import overall
from lab.learning.comparison.report import Report
from schemas.wording import count_text

EXAMPLES = (
    ("learn benchmark --workload lublin-256 lublin-policy --html report.html", "every seed of a run beside the rules"),
    ("learn benchmark whole no-mask no-history --workload lublin-256 --workload philly --dir judged --time-limit 30m",
     "with ablations; the same command goes on where the time was over"),
    ("learn benchmark --workload uniform", "the rules alone; needs no learning library"),
)  # fmt: skip
PAGE, MARKDOWN = "report.html", "report.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("policies", nargs="*", metavar="POLICY",
                        help="names of `learn train`, or files of `learn export`; ablations are held against "
                        "the first")  # fmt: skip
    add_workloads(parser)
    parser.add_argument("--dir", metavar="DIR",
                        help=f"keep there what is played, go on with it, and write {PAGE} and {MARKDOWN}")  # fmt: skip
    parser.add_argument("--time-limit", type=seconds, metavar="DURATION",
                        help="begin no stream after this wall time; the same command goes on (with --dir)")  # fmt: skip
    parser.add_argument("--shard", metavar="K/N",
                        help="play this of N parts, for N processes or machines at a time (with --dir)")  # fmt: skip
    parser.add_argument("--html", metavar="FILE", help="write the report as a page")
    parser.add_argument("--markdown", metavar="FILE", help="write it as Markdown")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Play and judge; raises InputError where a policy or a workload cannot be used."""
    part = part_of(arguments.shard, arguments.time_limit)
    folder = None if arguments.dir is None else Path(arguments.dir)
    for flag in ("shard", "time_limit"):
        if folder is None and getattr(arguments, flag) is not None:
            name = f"--{flag.replace('_', '-')}"
            raise InputError(
                name, getattr(arguments, flag), "give --dir, too, or what is played is lost"
            )
    learned = [_learned(word) for word in arguments.policies]
    compared = compare(arguments, learned, folder, part)
    report = Report(
        compared.judgements, overall(compared.judgements, seed=0), _about(arguments, learned),
        learned[0].name if learned else None, compared.missing,
    )  # fmt: skip
    _write(arguments, folder, report)
    if arguments.json:
        print_json(_described(report))
    else:
        _print(report)
    return ExitCode.CUT_OFF if compared.missing else ExitCode.GOOD


def _learned(word: str) -> Arm:
    if is_exported(word):
        one = exported(Path(word))
        return learned_arm(one.name, [one])
    folder = run_folder(word)
    return learned_arm(folder.name, list(trained(folder)))


def _write(arguments: argparse.Namespace, folder: Path | None, report: Report) -> None:
    """Write the report to every file that is asked for."""
    pages = [(Path(arguments.html), "--html")] if arguments.html is not None else []
    texts = [(Path(arguments.markdown), "--markdown")] if arguments.markdown is not None else []
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        pages.append((folder / PAGE, "--dir"))
        texts.append((folder / MARKDOWN, "--dir"))
    for path, flag in pages:
        write_page(path, _page(report), flag)
    for path, flag in texts:
        write_page(path, report.markdown(), flag)


def _about(arguments: argparse.Namespace, learned: Sequence[Arm]) -> list[str]:
    words = [*arguments.policies]
    for name in workloads_of(arguments):
        words += ["--workload", name]
    for pair in arguments.source:
        words += ["--source", pair]
    words += ["--streams", str(arguments.streams), "--rule-seeds", str(arguments.rule_seeds)]
    return [
        f"foresail learn benchmark {shlex.join(words)}",
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "Streams 0 onwards of each split; the fast simulator's model of Kueue, in plain Python.",
        *map(_trained_how, learned),
    ]


def _trained_how(arm: Arm) -> str:
    """Return how a policy was trained, as its plan says."""
    if arm.plan is None:
        return f"{arm.name}: an exported file"
    recipe = arm.plan["recipe"]
    told = {
        **arm.plan["arguments"],
        "masked": arm.plan["masked"],
        "imitates": arm.plan["imitates"] or "nothing",
    }
    return (
        f"{arm.name}: {recipe['algorithm']} (preset {recipe['preset']}), "
        f"{count_text(len(arm.seeds), 'training seed')}, "
        f"{recipe['steps']:,} steps each, {', '.join(f'{name}={value}' for name, value in told.items())}; "
        "of each seed the weights that were best on the development split"
    )


def _page(report: Report) -> str:
    sections = report.sections()
    return render(
        "learned.html",
        title="Learned admission beside simple rules",
        headlines=report.headlines(),
        statement=report.statement()[len(report.headlines()) :],
        about=report.about,
        sections=sections,
        plots=plots_of(report),
        result=_described(report),
    )


def _described(report: Report) -> dict[str, Any]:
    first = report.first
    found = [] if first is None or not report.judgements else ablations(report.judgements, first)
    return {
        "statement": report.statement(),
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
            for one in report.judgements
        ],
        "ablations": [
            {
                "policy": one.changed.played.arm.name,
                "difference": one.difference,
                "workload": one.workload,
                "gain": [one.gain.value, one.gain.low, one.gain.high],
            }
            for one in found
        ],
        "missing": list(report.missing),
    }  # fmt: skip


def _print(report: Report) -> None:
    from rich.table import Table  # noqa: PLC0415 - only here

    shown = {
        "effect": (0, 1, 2, 3, 5, 7, 8, 9, 10),
        "overall": (0, 1, 2, 3),
        "ablations": (0, 1, 2, 4, 5, 6),
    }
    for section in report.sections():
        if section.kind not in shown:
            continue
        table = Table(box=None, title=f"{section.title}: {section.about}", title_justify="left")
        for place in shown[section.kind]:
            table.add_column(section.table.columns[place])
        for row in section.table.rows:
            table.add_row(*(row[place] for place in shown[section.kind]))
        page().print(table)
    for line in report.statement():
        console().print(line, markup=False)
    console().print(f"{count_text(len(report.judgements), 'workload')} played", markup=False)
