"""Fetch the history of nodes and workloads from a Prometheus into a table: what models are trained and tried on.

Rows are `series,t_s,value` (the begin of a step in Unix seconds), sorted: what `forecast rates`, `forecast backtest
--rates` and `up --history` read.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bus.clock import SystemClock
from bus.errors import InputError, Temporary
from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.flags import seconds
from foresail.output import console, print_json
from foresail.progress import doing_shares
from foresail.run_log import note_artifact
from inputs.plain_numbers import parse_number
from schemas.numbers import rounded
from schemas.wording import count_text
from services.collector.history_filling import ASKED, DAY_SECONDS, asked_points
from services.collector.history_table import HEADER, NODES_ALONE, PACKED_SUFFIX
from services.prometheus import PrometheusRefused, PrometheusServer
from services.prometheus_queries import NODE, NODE_CPU, NODE_MEMORY
from services.prometheus_settings import PrometheusSettings

ALSO_NODES = ((NODE_CPU, NODES_ALONE[0], (NODE,)), (NODE_MEMORY, NODES_ALONE[1], (NODE,)))
"""Use of nodes: cores and bytes, beside what is asked of workloads."""
EXAMPLES = (
    (
        "forecast history --prometheus http://127.0.0.1:9090 --start 14d --out history.csv.gz",
        "the last fourteen days, in steps of five minutes",
    ),
)

Row = tuple[str, float, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--prometheus", required=True, metavar="URL", help="address of the server")
    parser.add_argument(
        "--start", required=True, metavar="TIME",
        help="2026-01-01T00:00:00Z, Unix seconds, or how long before now, such as 14d",
    )  # fmt: skip
    parser.add_argument("--end", metavar="TIME", help="likewise (default: now)")
    parser.add_argument(
        "--step", type=seconds, default=300.0, metavar="DURATION", help="default: 5m"
    )
    parser.add_argument(
        "--namespaces",
        default="",
        metavar="PREFIXES",
        help="of the workloads (default: all but Kubernetes' own)",
    )
    parser.add_argument(
        "--queries",
        default="",
        metavar="FILE",
        help="TOML file of queries that take the default ones' place",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="a new .csv or .csv.gz"
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Fetch and write.

    Raises:
        InputError: a time, the step or the file does not fit, or the server has not one value.
        Temporary: the server does not answer.
    """
    now = SystemClock().wall_ns() / 1e9
    begin, end = _time("--start", arguments.start, now), _time("--end", arguments.end or "0s", now)
    if not begin < end:
        raise InputError("--start", arguments.start, "give a time before --end")
    if arguments.step < 1.0:
        raise InputError("--step", arguments.step, "give 1s or more")
    if arguments.out.exists():
        raise InputError("--out", arguments.out, "give a file that does not exist yet")
    settings = PrometheusSettings(url=arguments.prometheus, queries_file=arguments.queries)
    prefixes = tuple(filter(None, arguments.namespaces.split(",")))
    try:
        with doing_shares("history") as advance:
            rows = stopping.run(_fetch(settings, (begin, end), arguments.step, prefixes, advance))
    except PrometheusRefused as error:
        raise Temporary(f"{arguments.prometheus}: {error}") from error
    if not rows:
        remedy = "see `foresail doctor --config FILE` for which queries it answers"
        raise InputError("--prometheus", arguments.prometheus, remedy)
    _write(arguments.out, rows)
    note_artifact(arguments.out, "history")
    series = len({name for name, _, _ in rows})
    if arguments.json:
        print_json({"file": arguments.out.name, "series": series, "rows": len(rows)})
    else:
        text = f"{count_text(len(rows), 'row')} of {count_text(series, 'series', 'series')}"
        console().print(f"{text}: {arguments.out}", markup=False)
    return ExitCode.GOOD


async def _fetch(
    settings: PrometheusSettings,
    span: tuple[float, float],
    step_seconds: float,
    prefixes: tuple[str, ...],
    advance: Any,
) -> list[Row]:
    """Ask day by day, which no server refuses for its length; raises PrometheusRefused."""
    server, rows = PrometheusServer(settings), []
    for begin, end in _days(span, step_seconds):
        for asked in (*ASKED, *ALSO_NODES):
            if asked[0] in server.queries:
                watched = () if asked in ALSO_NODES else prefixes
                rows += await asked_points(server, asked, (begin, end), step_seconds, watched)
        advance("history", (end - span[0]) / (span[1] - span[0]))
    return sorted(rows)


def _days(span: tuple[float, float], step_seconds: float) -> Iterator[tuple[float, float]]:
    """Yield first and last time of each day's questions; a step's rate is asked at its end."""
    at, last = span[0] + step_seconds, span[1]
    while at <= last:
        end = min(last, at + max(0.0, DAY_SECONDS - step_seconds))
        yield at, end
        at = end + step_seconds


def _time(flag: str, text: str, now: float) -> float:
    """Return Unix seconds; raises InputError."""
    with suppress(ValueError):
        return parse_number(text)
    with suppress(argparse.ArgumentTypeError):
        return now - seconds(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        remedy = "give 2026-01-01T00:00:00Z, Unix seconds, or how long before now, such as 14d"
        raise InputError(flag, text, remedy) from error
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _plain(value: float) -> float:
    """Return a number as it is written: a whole one without a point."""
    return int(value) if value.is_integer() else rounded(value)


def _write(path: Path, rows: list[Row]) -> None:
    """Write the table; raises InputError."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows((name, _plain(at), _plain(value)) for name, at, value in rows)
    content = text.getvalue().encode()
    try:
        path.write_bytes(
            gzip.compress(content, mtime=0) if path.suffix == PACKED_SUFFIX else content
        )
    except OSError as error:
        raise InputError(
            "--out", path, f"give a file that can be written ({error.strerror})"
        ) from error
