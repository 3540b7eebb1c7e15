"""Train and judge a demand model on usage series, beside the rules that operators use today.

Every rule and the model are shown as they are, scaled once, and followed online, on test rows that
nothing was fitted on. The model directory and the report appear whole; equal input and options give
equal bytes.
"""

from __future__ import annotations

import argparse
from typing import Any

from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode
from features.series.rules import WINDOW_SECONDS
from foresail.flags import seconds
from foresail.output import console, print_json
from foresail.progress import doing_shares
from foresail.workspace import workspace
from inputs.plain_numbers import parse_number
from lab.forecast.builds import write_text
from lab.forecast.demand.quantile import FULL, SMALL
from lab.forecast.demand.report import as_json, as_markdown
from lab.forecast.demand.run import DemandOptions, DemandRun, run_demand
from lab.forecast.demand.table import MODEL, FamilyTable
from projections.figures import percent, signed_text

DEFAULT_NAME = "demand"
DEFAULT_HORIZONS = ("15m", "1h", "3h")
SIZES = {"full": FULL, "small": SMALL}

EXAMPLES = (("forecast demand --input traces --size small", "a small model, with its report"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--input", required=True, metavar="FOLDER", help="folder of the trace pack")
    parser.add_argument(
        "--name",
        default=DEFAULT_NAME,
        metavar="NAME",
        help="name of the model (default: %(default)s)",
    )
    parser.add_argument(
        "--target",
        default="5%",
        metavar="SHARE",
        help="fraction of limits that usage may exceed (default: %(default)s)",
    )
    parser.add_argument(
        "--horizon",
        action="append",
        metavar="DURATION",
        help="how far ahead to predict, a multiple of 5m; repeatable (default: 15m, 1h and 3h)",
    )
    parser.add_argument(
        "--size",
        choices=tuple(SIZES),
        default="full",
        help="size of the model; small: about 100 kB, as shipped (default: %(default)s)",
    )
    parser.add_argument(
        "--family",
        default="",
        metavar="TEXT",
        help="only series families whose name contains this (default: all)",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Train, judge, write."""
    options = DemandOptions(
        name=arguments.name,
        target=share_of(arguments.target),
        horizons=tuple(windows_of(text) for text in arguments.horizon or DEFAULT_HORIZONS),
        size=SIZES[arguments.size],
        only=arguments.family,
    )
    place = workspace()
    with doing_shares("demand") as progress:
        done = run_demand(place.input(arguments.input), options, progress)
    manifest = done.model.write(place.models / options.name)
    about = {"name": options.name, "model_id": manifest.model_id, "absent": list(done.absent)}
    report = place.reports / f"demand-{options.name}.md"
    report.parent.mkdir(parents=True, exist_ok=True)
    write_text(report, as_markdown(done.tables, options.target, about))
    if arguments.json:
        print_json(as_json(done.tables, options.target, about))
    else:
        _print(done, options.target)
        console().print(f"{manifest.model_id} in {place.models / options.name}, report {report}")
    return ExitCode.GOOD


def share_of(text: str) -> float:
    """Return a share given as `5%` or `0.05`.

    Raises:
        InputError: it is neither.
    """
    try:
        return parse_number(text[:-1]) / 100 if text.endswith("%") else parse_number(text)
    except ValueError as error:
        raise InputError("--target", text, "give a share such as 5% or 0.05") from error


def windows_of(text: str) -> int:
    """Return a duration such as `15m` in five-minute windows.

    Raises:
        InputError: it is no whole number of windows.
    """
    try:
        windows, rest = divmod(seconds(text), WINDOW_SECONDS)
    except (ValueError, argparse.ArgumentTypeError) as error:
        raise InputError("--horizon", text, "give a duration such as 15m or 1h") from error
    if rest or windows < 1:
        raise InputError("--horizon", text, "give a multiple of 5m")
    return int(windows)


def _print(done: DemandRun, target: float) -> None:
    for horizon in dict.fromkeys(table.horizon for table in done.tables):
        chosen = [table for table in done.tables if table.horizon == horizon]
        console().print(
            _table(chosen, target, f"horizon {horizon.title}, target {percent(target)}")
        )
    for file in done.absent:
        console().print(f"not there, so left out: {file}")


def _table(chosen: list[FamilyTable], target: float, title: str) -> Table:
    table = Table(title=f"{title}: violation, savings on test")
    for head in ("family", "model", "kept", "max(N-sigma, RC)", "both 2 h", "VPA", "gain"):
        table.add_column(head, justify="left" if head == "family" else "right")
    for one in chosen:
        own = one.method(MODEL).followed
        rules: dict[str, Any] = {verdict.rule: verdict for verdict in one.verdicts}
        least = min((verdict.gain for verdict in one.verdicts), key=lambda gain: gain.value)
        table.add_row(
            one.family,
            f"{percent(own.violation)}, {percent(own.savings)}",
            "yes" if one.keeps_target(target) else "no",
            *(
                f"{percent(rules[name].rule_violation)}, {percent(rules[name].rule_savings)}"
                for name in ("max_n_sigma_rc", "max_n_sigma_rc_2h", "vpa")
            ),
            f"{signed_text(100 * least.value)} ({signed_text(100 * least.low)} to {signed_text(100 * least.high)})",
        )
    return table
