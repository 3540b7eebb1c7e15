"""`foresail verify FILE`: compute a recording's layers again with today's code, and compare."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode, verdict
from foresail.flags import add_partial
from foresail.output import console, not_events, print_json
from foresail.progress import reading
from foresail.run_log import add_run
from foresail.verbs import Verb
from lab.rerun.engine import LAYERS
from lab.rerun.verify import Difference, Report, as_json, verify
from projections.figures import duration
from schemas.wording import count_text
from services.model_folders import folder_of, read_manifest

VERB = Verb(
    160, "run today's code on a recording's input and compare each layer with what was recorded"
)
EXAMPLES = (
    ("verify run.fslog", "exit code 0 when every layer is equal"),
    ("verify run.fslog --from decision", "run only the referee and what follows it"),
)

LONGEST_VALUE = 60
SHOWN_CAUSES = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("file", metavar="FILE", help="a recording")
    parser.add_argument(
        "--from",
        dest="layer",
        choices=LAYERS,
        default=LAYERS[0],
        metavar="LAYER",
        help=f"first layer to run again: {', '.join(LAYERS)} (default: %(default)s)",
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="DIR",
        help="folder of a model that the recording names and that is not shipped; repeatable",
    )
    add_partial(parser)
    add_run(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def main(arguments: argparse.Namespace) -> ExitCode:
    """Verify and say what was found.

    Raises:
        InputError: the recording or a model cannot be used.
    """
    path = Path(arguments.file)
    if not path.is_file():
        raise InputError("FILE", path, "give a recording that exists")
    layers = frozenset(LAYERS[LAYERS.index(arguments.layer) :])
    models = {read_manifest(folder_of(path)).model_id: path for path in arguments.model}
    with reading(path, "verifying") as on_message:
        report = verify(path, layers, models, on_message)
    if arguments.json:
        print_json(as_json(report))
    else:
        _print(report)
    return verdict(
        differs=bool(report.different or report.unreadable),
        nothing_compared=bool(report.not_compared or report.as_recorded),
        cut_off=bool(report.damage) and not arguments.partial,
    )


def _print(report: Report) -> None:
    out = console()
    table = Table(box=None)
    for name in ("layer", "equal", "different", "environment", "not compared"):
        table.add_column(name, justify="left" if name == "layer" else "right")
    for name, layer in report.layers.items():
        counts = (layer.equal, layer.different, layer.environment, layer.ungrounded)
        table.add_row(name, *(str(count) for count in counts), style=_style(layer.different))
    out.print(table)
    if report.damage:
        out.print(
            f"read up to the damage: {report.damage}; "
            f"{count_text(report.messages, 'message was', 'messages were')} read",
            markup=False,
        )
    for subject, count in sorted(report.unreadable.items()):
        out.print(f"{subject}: {not_events(count)}", markup=False)
    for agent, count in sorted(report.as_recorded.items()):
        out.print(
            f"{count_text(count, 'proposal')} of {agent} taken as recorded: that agent is not installed here",
            markup=False,
        )
    for kind, fields in sorted(report.added.items()):
        names = ", ".join(sorted(fields))
        out.print(f"older form of {kind}: compared without {names}", markup=False)
    if any(layer.ungrounded for layer in report.layers.values()):
        out.print("not compared: made from events that lie before the recording's beginning")
    if report.first is not None:
        _print_difference(report.first)
    if report.not_compared and report.compared:
        out.print(f"nothing was compared of: {', '.join(report.not_compared)}", style="bold red")
    out.print(
        f"{report.file}: {_words(report)}; {count_text(report.compared, 'event')} compared over "
        f"{duration(report.recorded_seconds)} of recorded time",
        style=None if report.holds else "bold red",
        markup=False,
    )


def _words(report: Report) -> str:
    if report.different or report.unreadable:
        return "NOT the same"
    if not report.compared:
        return "nothing could be compared"
    part = bool(report.not_compared or report.damage or report.as_recorded)
    return "what could be compared is the same, but that is not everything" if part else "the same"


def _print_difference(first: Difference) -> None:
    out = console()
    kind = "environment difference" if first.environment else "first difference"
    out.print(f"\n{kind}: seq {first.seq}, cycle {first.cycle}, {first.subject}", markup=False)
    table = Table(box=None)
    for name in ("field", "recorded", "computed now"):
        table.add_column(name)
    for field in first.fields:
        table.add_row(field.path, _short(field.recorded), _short(field.computed))
    out.print(table)
    if first.environment:
        out.print(
            "only floats that a trained model computed differ, by next to nothing: "
            "another CPU or another build of a numeric library"
        )
    out.print("caused by")
    for link in first.causes[:SHOWN_CAUSES]:
        where = f"seq {link.seq}  {link.subject}" if link.seq else "not in the recording"
        out.print(f"{'  ' * link.depth}{where}  {link.id}", markup=False)
    if len(first.causes) > SHOWN_CAUSES:
        out.print(f"  and {len(first.causes) - SHOWN_CAUSES} more")


def _short(value: Any) -> str:
    text = "(nothing)" if value is None else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _style(different: int) -> str | None:
    return "bold red" if different else None
