"""From requests that were measured to a rate file that the twin plays: Prometheus' answers, or exported CSV.

A rate file's times count from 0, and each rate holds until the next (`twin.workloads.rate_file`); where the
measurement has a hole, the rate before it goes on, and the file says how often.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from bus.errors import InputError
from inputs.plain_numbers import parse_number
from twin.port.files import COLUMNS, MOST_POINTS, MOST_REQUESTS_PER_SECOND

MILLISECONDS_FROM = 1e11
"""A number of seconds would be the year 5138: such times are milliseconds, as Grafana exports them."""


_UNKNOWN = frozenset(("NaN", "nan", "null"))
"""What exports write where nothing was measured."""


@dataclass(frozen=True, slots=True)
class RateSeries:
    """One measured course."""

    name: str
    points: tuple[tuple[float, float], ...]
    """Seconds since the Unix epoch and requests per second, in order of time; NaN where nothing was measured."""


def read_matrix(body: bytes) -> list[RateSeries]:
    """Return the series of an answer of Prometheus' `query_range`.

    Raises:
        InputError: it is an error, or no matrix.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InputError("--prometheus", "(answer)", "it is no JSON; see the address") from error
    if not isinstance(answer, dict) or answer.get("status") != "success":
        said = answer.get("error") if isinstance(answer, dict) else None
        raise InputError(
            "--query", "(refused)", str(said or "give a query that Prometheus takes")[:300]
        )
    data = answer.get("data")
    if not isinstance(data, dict) or data.get("resultType") != "matrix":
        raise InputError("--query", "(answer)", "give one whose answer is a range of samples")
    try:
        return [_series(one) for one in data["result"]]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("--prometheus", "(answer)", "it is no answer of Prometheus") from error


def _series(one: dict[str, Any]) -> RateSeries:
    labels = ", ".join(f'{name}="{value}"' for name, value in sorted(one["metric"].items()))
    points = tuple((float(at), float(value)) for at, value in one["values"])
    return RateSeries(f"{{{labels}}}", points)


def read_csv(text: str, file: str) -> list[RateSeries]:
    """Return the series of a CSV: a header, a first column of times, and one column a series.

    Times are seconds or milliseconds since the Unix epoch, or ISO 8601; empty cells were not measured.

    Raises:
        InputError: a line cannot be read.
    """
    rows = [row for row in csv.reader(text.splitlines()) if row and not row[0].startswith("#")]
    if len(rows) < 2 or len(rows[0]) < 2:
        raise InputError(file, "(empty)", "give a header and lines of a time and at least one rate")
    columns: list[list[tuple[float, float]]] = [[] for _ in rows[0][1:]]
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(rows[0]):
            raise InputError(
                f"{file} row {number}", f"{len(row)} cells", f"give {len(rows[0])} cells"
            )
        at = _moment(row[0], file, number)
        for points, cell in zip(columns, row[1:], strict=True):
            points.append((at, _rate(cell, file, number)))
    return [
        RateSeries(name, tuple(sorted(points)))
        for name, points in zip(rows[0][1:], columns, strict=True)
    ]


def _moment(cell: str, file: str, number: int) -> float:
    try:
        value = parse_number(cell.strip(" "))
    except ValueError:
        try:
            moment = datetime.fromisoformat(cell.strip())
        except ValueError as error:
            remedy = "write seconds since 1970, or 2026-01-01T10:00:00Z"
            raise InputError(f"{file} row {number}: time", cell, remedy) from error
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return value / 1_000.0 if value >= MILLISECONDS_FROM else value


def _rate(cell: str, file: str, number: int) -> float:
    try:
        return parse_number(cell.strip(" ")) if cell.strip() and cell not in _UNKNOWN else math.nan
    except ValueError as error:
        remedy = "write requests per second as a number, or nothing where none was measured"
        raise InputError(f"{file} row {number}: rate", cell, remedy) from error


def choose(series: Sequence[RateSeries], name: str | None) -> RateSeries:
    """Return the one series, or the one that is named by a part of its name.

    Raises:
        InputError: none or several fit.
    """
    fitting = [one for one in series if name is None or name in one.name]
    if len(fitting) == 1:
        return fitting[0]
    if not series:
        raise InputError(
            "--query", "(nothing)", "it has no sample in that time; ask for another time or metric"
        )
    names = ", ".join(one.name for one in (fitting or series)[:5])
    remedy = f"add `sum()` to the query, or name one of: {names}"
    raise InputError("--series", name or f"{len(series)} series", remedy)


def rate_file(series: RateSeries, source: str) -> str:
    """Return the text of a rate file.

    Raises:
        InputError: no rate was measured, one is below 0 or too large, or there are too many.
    """
    known = [(at, rate) for at, rate in series.points if math.isfinite(rate)]
    if not known:
        raise InputError("--series", series.name, "nothing was measured in that time")
    bad = next((rate for _, rate in known if not 0.0 <= rate <= MOST_REQUESTS_PER_SECOND), None)
    if bad is not None:
        remedy = (
            f"requests per second are 0 to {MOST_REQUESTS_PER_SECOND:g}; a counter needs rate()"
        )
        raise InputError("--query", bad, remedy)
    twice = next((at for (at, _), (after, _) in pairwise(known) if after <= at), None)
    if twice is not None:
        moment = datetime.fromtimestamp(twice, UTC).isoformat(timespec="seconds")
        raise InputError("--series", f"{series.name} at {moment}", "give one rate for each time")
    begin = known[0][0]
    changes = [
        (at - begin, rate)
        for place, (at, rate) in enumerate(known)
        if place == 0 or rate != known[place - 1][1]
    ]
    if len(changes) > MOST_POINTS:
        raise InputError(
            "--step", f"{len(changes)} rates", f"at most {MOST_POINTS}: take longer steps"
        )
    began = datetime.fromtimestamp(begin, UTC).isoformat(timespec="seconds")
    lines = [
        f"# Requests per second of {series.name}, from {began}.",
        f"# source: {source}",
        f"# {len(series.points) - len(known)} of {len(series.points)} samples were missing; the rate before holds",
        ",".join(COLUMNS),
        *(f"{_plain(seconds)},{_plain(rate)}" for seconds, rate in changes),
    ]
    return (
        "\n".join(" ".join(line.split()) if line.startswith("#") else line for line in lines) + "\n"
    )


def _plain(value: float) -> str:
    """Return a number to a millionth, without an exponent."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
