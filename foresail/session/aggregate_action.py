"""`foresail session aggregate`: the results in a folder, filtered and ranked."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.output import console, print_json
from foresail.session.summary import RULE
from lab.sessions.aggregate import (
    DRAWDOWN,
    TRADES,
    RankedResult,
    Ranking,
    SessionResults,
    Wanted,
    rank,
    read_results,
    summary_json,
)
from projections.figures import number, signed_text
from projections.session_state import Direction

EXAMPLES = (
    ("session aggregate --results-dir outputs/tuning/sess001", "the ten best"),
    (
        "session aggregate --results-dir outputs/tuning/sess001 --max-drawdown-pct 15 --min-trades 5",
        "of those that lost little and traded often",
    ),
    (
        "session aggregate --results-dir out --where 'churn <= 3' --pareto churn:min,reward:max",
        "any figure of the results, and the front between two",
    ),
)
BACKTEST_SHOWN = ("min_spread_bps", "slippage_bps")
DIRECTIONS: Mapping[str, Direction] = {"max": "maximize", "min": "minimize"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--results-dir", required=True, metavar="DIR",
                        help="folder of the jobs' results, searched to the bottom")  # fmt: skip
    parser.add_argument("--max-results", type=int, default=10, metavar="N",
                        help="results that are listed (default: %(default)s)")  # fmt: skip
    parser.add_argument("--max-drawdown-pct", type=float, metavar="PCT",
                        help="leave out what lost more; a result without the figure lost 100")  # fmt: skip
    parser.add_argument("--min-trades", type=int, metavar="N", help="leave out what traded less")
    parser.add_argument("--where", action="append", default=[], metavar="EXPRESSION",
                        help="leave out what this does not hold for, such as 'churn <= 3'; repeatable")  # fmt: skip
    parser.add_argument("--rank-by", metavar="EXPRESSION",
                        help="figure that decides (default: profit, outcome score, reward or score)")  # fmt: skip
    parser.add_argument("--direction", choices=tuple(DIRECTIONS), default="max",
                        help="whether more or less of it is better (default: %(default)s)")  # fmt: skip
    parser.add_argument("--pareto", default="", metavar="FIGURE:max|min,...",
                        help="also mark the results that no other one beats in these figures")  # fmt: skip
    parser.add_argument("--output-json", metavar="FILE", help="also write the summary as JSON")
    parser.add_argument("--html", metavar="FILE",
                        help="also write one self-contained page with plots (needs foresail[tune])")  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Read, rank, print and write.

    Raises:
        InputError: the folder, an expression or a goal cannot be used, or a file cannot be written.
    """
    own = [Path(name) for name in (arguments.output_json,) if name is not None]
    results = read_results(Path(arguments.results_dir), own)
    wanted = _wanted(arguments)
    ranking = rank(results, wanted)
    filters = _filters(arguments)
    summary = summary_json(results, ranking, filters, max(0, arguments.max_results))
    if arguments.output_json is not None:
        _write(Path(arguments.output_json), summary)
    if arguments.html is not None:
        from foresail.session.aggregate_page import write_aggregate_page  # noqa: PLC0415 - an extra

        goals = [figure for figure, _ in wanted.goals]
        write_aggregate_page(Path(arguments.html), results, ranking, goals)
    if arguments.json:
        print_json(summary)
    else:
        text = _text(results, ranking, filters, max(0, arguments.max_results))
        console().print(text, markup=False, soft_wrap=True)
    return ExitCode.GOOD if ranking.results else ExitCode.NOTHING_COMPARED


def _wanted(arguments: argparse.Namespace) -> Wanted:
    goals: list[tuple[str, Direction]] = []
    for word in arguments.pareto.split(",") if arguments.pareto else ():
        figure, _, direction = word.rpartition(":")
        if direction not in DIRECTIONS or not figure:
            raise InputError("--pareto", word, "write it as churn:min,reward:max")
        goals.append((figure, DIRECTIONS[direction]))
    return Wanted(
        max_drawdown_pct=arguments.max_drawdown_pct,
        min_trades=arguments.min_trades,
        where=tuple(arguments.where),
        rank_by=arguments.rank_by,
        direction=DIRECTIONS[arguments.direction],
        goals=tuple(goals),
    )


def _filters(arguments: argparse.Namespace) -> dict[str, Any]:
    given = {
        "max_drawdown_pct": arguments.max_drawdown_pct,
        "min_trades": arguments.min_trades,
        "where": " and ".join(arguments.where) or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _text(results: SessionResults, ranking: Ranking, filters: Mapping[str, Any], most: int) -> str:
    lines = [
        *(RULE, "[D39_AGG] TUNING SESSION SUMMARY", RULE, ""),
        f"Total Jobs:           {results.total}",
        f"Success Jobs:         {len(results.succeeded)}",
        f"Error Jobs:           {len(results.errors)}",
        "",
    ]
    if filters:
        lines += ["Filters:", *(f"  {name}: {value}" for name, value in filters.items()), ""]
    shown = ranking.results[:most]
    what = "Realized PnL (USD)" if ranking.rank_by == "realized_pnl_usd" else ranking.rank_by
    lines.append(f"Top {len(shown)} by {what}:")
    front = {one.job_id for one in ranking.front}
    lines += [
        f"  {place}) {_line(one, ranking.rank_by)}{'  (Pareto)' if one.job_id in front else ''}"
        for place, one in enumerate(shown, start=1)
    ]
    return "\n".join([*lines, "", RULE])


def _line(one: RankedResult, rank_by: str) -> str:
    """Return one result: of a back-test the predecessors' figures, of others what decides, and its values."""
    if rank_by == "realized_pnl_usd":
        metrics = one.metrics
        figures = (
            f"PnL=${signed_text(one.value or 0.0)}  DD={number(metrics.get(DRAWDOWN, 0.0))}%  "
            f"trades={metrics.get(TRADES, 0)}"
        )
        names: list[str] = [name for name in BACKTEST_SHOWN if name in one.config]
    else:
        figures = f"{rank_by}={'none' if one.value is None else number(one.value)}"
        names = list(one.config)
    values = "  ".join(f"{name}={one.config[name]}" for name in names)
    return f"job_id={one.job_id}  {figures}  {values}".rstrip()


def _write(path: Path, summary: Mapping[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        remedy = f"give a file that can be written ({error.strerror})"
        raise InputError("--output-json", path, remedy) from error
