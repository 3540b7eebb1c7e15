"""`foresail diff A B`: two recordings beside each other, aligned by cycle."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from bus.clock import SystemClock
from bus.exit_codes import ExitCode, verdict
from foresail.comparison_table import comparison_table
from foresail.diff_page import diff_page
from foresail.experiment.arm_recordings import NamedRecording, named_recording
from foresail.flags import seconds
from foresail.growing import changed_ms, still_written
from foresail.html_page import write_page
from foresail.output import console, not_events, print_json
from foresail.progress import reading
from foresail.verbs import Verb
from lab.live.recorded import RecordedPair, pair_runs, read_run
from lab.live.recorded_story import narrative, pair_json
from lab.rerun.changes import WINDOW_SECONDS
from lab.rerun.diff import Diff, diff
from projections.figures import cell, number, signed_text
from projections.policy_totals import comparison_rows
from schemas.wording import count_text

VERB = Verb(190, "compare two recordings cycle by cycle")
EXAMPLES = (
    ("diff before.fslog after.fslog", "where two runs first differ, and by how much"),
    (
        "diff short.results:shop/none short.results:shop/baseline-rules --clusters",
        "what two arms of an experiment made of the same work",
    ),
)

SHOWN = 15
SUFFIX = ".fslog"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "a", metavar="A", help="the first recording, or FOLDER:ARM of an experiment's results"
    )
    parser.add_argument("b", metavar="B", help="the second one")
    parser.add_argument(
        "--window",
        type=seconds,
        default=WINDOW_SECONDS,
        metavar="DURATION",
        help="an action undone within this much cluster time counts as churn (default: 15m)",
    )
    parser.add_argument(
        "--clusters",
        action="store_true",
        help="also hold the clusters beside each other, in windows of 5 minutes of cluster time",
    )
    parser.add_argument(
        "--html", metavar="FILE", help="also write one self-contained HTML page with a picture"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def main(arguments: argparse.Namespace) -> ExitCode:
    """Compare and print.

    Raises:
        InputError: a recording cannot be read.
    """
    named = [named_recording(name, "FILE") for name in (arguments.a, arguments.b)]
    a, b = (one.path for one in named)
    with reading(a, "comparing", b) as on_message:
        difference = diff(a, b, arguments.window, on_message=on_message)
    now_ms = SystemClock().wall_ns() // 1_000_000
    for path, side in zip((a, b), difference.sides, strict=True):
        side.grows = still_written(side.damage, changed_ms(path), now_ms)
    pair = _pair(named) if arguments.clusters else None
    if arguments.html is not None:
        write_page(Path(arguments.html), diff_page(difference))
    if arguments.json:
        clusters = {} if pair is None else {"clusters": pair_json(pair, difference)}
        print_json(difference.as_json() | clusters)
    else:
        _print(difference)
        if pair is not None:
            _print_clusters(pair, difference)
    return verdict(
        differs=not difference.same,
        nothing_compared=difference.compared == 0,
        cut_off=any(side.damage for side in difference.sides),
    )


def _pair(named: Sequence[NamedRecording]) -> RecordedPair:
    first, second = named
    names = [one.name.removesuffix(SUFFIX) for one in (first, second)]
    names = names if names[0] != names[1] else ["A", "B"]
    return pair_runs(*(read_run(one.path, name) for one, name in zip(named, names, strict=True)))


def _print_clusters(pair: RecordedPair, difference: Diff) -> None:
    out = console()
    out.print("")
    for sentence in narrative(pair, difference):
        out.print(sentence, markup=False, soft_wrap=True)
    out.print(comparison_table(pair.comparison))


def _print(difference: Diff) -> None:
    out = console()
    a, b = difference.sides
    for letter, side in (("A", a), ("B", b)):
        out.print(
            f"{letter}: {side.file}, {side.cluster}, {count_text(side.events, 'message')}, "
            f"{count_text(side.totals.decisions, 'decision')}, {side.alone} of cycles only here",
            markup=False,
        )
        if side.grows:
            out.print("   still being written: read as far as it is")
        elif side.damage:
            out.print(f"   read up to the damage: {side.damage}", markup=False)
        if side.unreadable:
            out.print(f"   {not_events(side.unreadable)}")
    if difference.settings:
        settings = Table(box=None)
        for name in ("setting", "A", "B"):
            settings.add_column(name)
        for row in difference.settings[:SHOWN]:
            settings.add_row(*(cell(value) for value in row))
        out.print(settings)
    table = Table(box=None)
    for name in ("figure", "A", "B", "difference"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    for name, before, after in comparison_rows(a.totals, b.totals):
        table.add_row(name, number(before), number(after), signed_text(after - before))
    out.print(table)
    counts = ", ".join(f"{count} {name}" for name, count in difference.classes.items())
    out.print(f"decisions of the same cycle: {counts}")
    if not difference.compared:
        out.print("nothing could be compared: no cycle is decided on both sides", style="bold red")
    if difference.listed:
        first = difference.listed[0]
        out.print(f"\nfirst divergence: cycle {first.cycle}, {first.kind}")
        out.print(f"  A  {first.before}: {first.before_why}", markup=False)
        out.print(f"  B  {first.after}: {first.after_why}", markup=False)
