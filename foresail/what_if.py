"""`foresail what-if FILE`: what would other thresholds, models or rules have decided?"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode, verdict
from foresail.flags import seconds
from foresail.html_page import write_page
from foresail.output import console, not_events, print_json
from foresail.progress import reading
from foresail.verbs import Verb
from foresail.what_if_page import what_if_page
from lab.rerun.assertion import read_assertion
from lab.rerun.changes import (
    WINDOW_SECONDS,
    Changes,
    model_changes,
    profile_changes,
    read_rules,
    read_settings,
)
from lab.rerun.engine import LAYERS
from lab.rerun.what_if import Result, what_if
from projections.figures import number, signed_text
from projections.policy_totals import comparison_rows
from schemas.wording import count_text

VERB = Verb(170, "show what other thresholds, models or rules would have decided on a recording")
EXAMPLES = (
    ("what-if run.fslog --set agents.safety.replicate=0.9", "one threshold changed"),
    ("what-if run.fslog --model small-risk --html result.html", "another model, with a picture"),
)

SHOWN = 15


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("file", metavar="FILE", help="a recording")
    add_changes(parser)
    parser.add_argument(
        "--from",
        dest="layer",
        choices=LAYERS,
        metavar="LAYER",
        help=f"first layer to run again: {', '.join(LAYERS)} (default: the first that the changes can affect)",
    )
    parser.add_argument(
        "--window",
        type=seconds,
        default=WINDOW_SECONDS,
        metavar="DURATION",
        help="an action undone within this much cluster time counts as churn (default: 15m)",
    )
    parser.add_argument(
        "--plant",
        choices=("twin",),
        help="closed loop: continue in the simulated cluster from a recorded state",
    )
    parser.add_argument(
        "--at",
        type=int,
        default=0,
        metavar="CYCLE",
        help="with --plant: the cycle to start from (default: the first)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=7,
        metavar="N",
        help="with --plant: random seed of the simulation (default: %(default)s)",
    )
    parser.add_argument(
        "--assert",
        dest="assertions",
        action="append",
        default=[],
        metavar="EXPRESSION",
        help="exit with 1 unless this holds, such as 'churn <= baseline and reward >= baseline'; repeatable",
    )
    parser.add_argument(
        "--html", metavar="FILE", help="also write one self-contained HTML page with a picture"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_changes(parser: argparse.ArgumentParser) -> None:
    """Add what can be changed."""
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a setting, such as agents.safety.replicate=0.9; repeatable",
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="DIR",
        help="predict with the model in this folder; repeatable",
    )
    parser.add_argument(
        "--profile", metavar="NAME", help="policy profile: baseline-rules or forecast"
    )
    parser.add_argument(
        "--rules", metavar="FILE", help="TOML file with the referee's rules in another order"
    )


def changes_of(arguments: argparse.Namespace) -> Changes:
    """Return the changes that were given.

    Raises:
        InputError: one of them cannot be used.
    """
    changes = model_changes(arguments.model)
    changes |= profile_changes(arguments.profile, changes)
    return changes | read_settings(arguments.settings)


def main(arguments: argparse.Namespace) -> ExitCode:
    """Compute, print, assert.

    Raises:
        InputError: the recording or a change cannot be used.
    """
    path = Path(arguments.file)
    if not path.is_file():
        raise InputError("FILE", path, "give a recording that exists")
    changes = changes_of(arguments)
    result = (
        _closed_loop(path, changes, arguments)
        if arguments.plant
        else _open(path, changes, arguments)
    )
    checked = assertions_of(result, arguments.assertions)
    if arguments.html is not None:
        write_page(Path(arguments.html), what_if_page(result, checked))
    if arguments.json:
        print_json({**result.as_json(), "assertions": checked})
    else:
        print_result(result)
        for text, holds in checked.items():
            mark = "holds" if holds else "DOES NOT HOLD"
            console().print(f"{mark}: {text}", style=None if holds else "bold red", markup=False)
    return verdict(
        differs=not all(checked.values()) or bool(result.unreadable),
        nothing_compared=result.compared == 0,
        cut_off=bool(result.damage),
    )


def _open(path: Path, changes: Changes, arguments: argparse.Namespace) -> Result:
    rules = None if arguments.rules is None else read_rules(Path(arguments.rules))
    with reading(path, "computing") as on_message:
        return what_if(
            path,
            changes,
            rules,
            from_layer=arguments.layer,
            window_seconds=arguments.window,
            on_message=on_message,
        )


def _closed_loop(path: Path, changes: Changes, arguments: argparse.Namespace) -> Result:
    if arguments.rules is not None or arguments.layer is not None:
        raise InputError("--plant", arguments.plant, "leave out --rules and --from")
    result: Result = import_module("foresail.closed_loop").closed_loop(
        path, changes, arguments.window, cycle=arguments.at, seed=arguments.seed
    )
    return result


def assertions_of(result: Result, texts: list[str]) -> dict[str, bool]:
    """Return whether each assertion holds.

    Raises:
        InputError: one cannot be read.
    """
    names = result.names()
    return {text: read_assertion(text, names).holds(names) for text in texts}


def print_result(result: Result) -> None:
    """Print a result for people."""
    out = console()
    out.print(result.loop, style="yellow", markup=False)
    for note in result.notes:
        out.print(f"  {note}", markup=False)
    changed = ", ".join(f"{name} = {value}" for name, value in result.changes.items())
    rules = f"rules: {', '.join(result.rules)}" if result.rules else ""
    changes_text = "; ".join(one for one in (changed, rules) if one) or "nothing"
    out.print(f"changed: {changes_text} (computed from {result.from_layer} on)", markup=False)
    if result.damage:
        out.print(f"read up to the damage: {result.damage}", markup=False)
    if result.unreadable:
        out.print(not_events(result.unreadable))
    if result.not_computed:
        out.print(
            f"{count_text(result.not_computed, 'decision')} not computed: "
            "made from events that lie before the recording's beginning"
        )
    out.print(_figures(result))
    counts = ", ".join(f"{count} {name}" for name, count in result.classes.items())
    out.print(f"decisions: {counts}")
    if result.first is None:
        out.print("every decision is the same" if result.compared else "nothing was compared")
        return
    first = result.first
    out.print(f"\nfirst divergence: cycle {first.cycle} (seq {first.seq}), {first.kind}")
    out.print(
        f"  {result.baseline_name}  {_with_reason(first.before, first.before_why)}", markup=False
    )
    out.print(f"  now       {_with_reason(first.after, first.after_why)}", markup=False)
    out.print(_differing(result))


def _with_reason(decision: str, reason: str) -> str:
    """Return a decision and why, which often begins with the decision's own words."""
    return reason if reason.startswith(decision) else f"{decision}: {reason}"


def _figures(result: Result) -> Table:
    table = Table(box=None)
    for name in ("figure", result.baseline_name, "now", "difference"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    for name, before, after in comparison_rows(result.baseline, result.changed):
        table.add_row(name, number(before), number(after), signed_text(after - before))
    return table


def _differing(result: Result) -> Table:
    table = Table(box=None)
    for name in ("cycle", "", result.baseline_name, "now"):
        table.add_column(name)
    for one in result.listed[:SHOWN]:
        table.add_row(str(one.cycle), one.kind, one.before, one.after)
    total = sum(count for name, count in result.classes.items() if name != "same")
    if total > SHOWN:
        table.add_row("", f"and {total - SHOWN} more", "", "")
    return table
