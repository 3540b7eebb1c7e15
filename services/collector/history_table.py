"""A table of history: CSV of `series,t_s,value`, plain or packed by gzip, as steps of five minutes."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

from bus.errors import ConfigError
from inputs.limited_files import BadFile, read_text_limited
from inputs.plain_numbers import parse_number
from schemas.history import MOST_SERIES_FILLED, MOST_VALUES_FILLED, FilledSeries, HistoryFilled

FIELD = "collector.history_files"
HEADER = ["series", "t_s", "value"]
KINDS = ("service", "cpu", "memory", "nodes")
"""What a series' name begins with, before the first `/`."""
NODES_ALONE = ("node_cpu", "node_memory")
"""Kinds that a table may hold and that no workload's history is: they are left out here."""
MOST_BYTES = 256 << 20
"""Of a table, once unpacked."""
PACKED_SUFFIX = ".gz"
STEP_SECONDS = 300
KEPT_SECONDS = 14 * 86_400
DAY_STEPS = 86_400 // STEP_SECONDS
SIGNIFICANT_DIGITS = 5

Points = Mapping[str, Sequence[tuple[float, float]]]
"""By series (time, value): a value holds from its time on, until the next one or one step."""
Source = Literal["prometheus", "table", "recording"]


def read_history_file(file: str) -> dict[str, list[tuple[float, float]]]:
    """Return the rows of a table by series, in order of time; rows without a value are left out.

    Raises:
        ConfigError: the file cannot be read, or a row is wrong; it names the row.
    """
    points: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for place, row in _rows(Path(file)):
        if row[0].startswith(NODES_ALONE):
            continue
        if row[0].partition("/")[0] not in KINDS or "/" not in row[0]:
            remedy = "name a series such as service/NAMESPACE/NAME or cpu/NAMESPACE/Deployment/NAME"
            raise ConfigError(f"{place}: series", row[0], remedy)
        if row[2]:
            at, value = (
                _number(place, name, cell) for name, cell in zip(HEADER[1:], row[1:], strict=True)
            )
            if value < 0.0:
                raise ConfigError(
                    f"{place}: value", row[2], "give a number of 0 or more, or nothing"
                )
            points[row[0]].append((at, value))
    for one in points.values():
        one.sort()
    return dict(points)


def _rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield where each row stands, and its cells."""
    try:
        packed = path.suffix == PACKED_SUFFIX
        text = read_text_limited(path, MOST_BYTES, "utf-8-sig", packed=packed)
    except OSError as error:
        raise ConfigError(FIELD, path, f"give a readable file ({error.strerror})") from error
    except BadFile as error:
        raise ConfigError(FIELD, path, f"give a table in CSV ({error})") from error
    rows = csv.reader(line for line in text.splitlines() if line and not line.startswith("#"))
    if next(rows, None) != HEADER:
        raise ConfigError(FIELD, path.name, f"begin with the line {','.join(HEADER)}")
    for number, row in enumerate(rows, start=2):
        place = f"{FIELD}: {path.name} row {number}"
        if len(row) != len(HEADER):
            raise ConfigError(place, f"{len(row)} cells", f"give {len(HEADER)} cells")
        yield place, row


def _number(place: str, name: str, cell: str) -> float:
    try:
        number = parse_number(cell.strip(" "))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"{place}: {name}", cell, "give a number")
    return number


def filled_steps(points: Points, now: float) -> dict[str, dict[int, float]]:
    """Return by series the mean of each step of five minutes before `now` (cluster time) of which a row tells.

    Rows further apart than a step hold for the time between them. Where no row is later than time 0, times count
    back from `now`, as in the history of a simulated world.
    """
    newest = max((one[-1][0] for one in points.values() if one), default=0.0)
    shift = now if newest <= 0.0 else 0.0
    steps: dict[str, dict[int, float]] = {}
    for name, rows in points.items():
        spacing = _spacing([at for at, _ in rows])
        parts: dict[int, list[tuple[float, float]]] = defaultdict(list)
        for at, value in rows:
            for step, seconds in _overlaps(at + shift, spacing):
                if now - KEPT_SECONDS <= step * STEP_SECONDS and (step + 1) * STEP_SECONDS <= now:
                    parts[step].append((value * seconds, seconds))
        steps[name] = {
            step: math.fsum(total for total, _ in told) / math.fsum(seconds for _, seconds in told)
            for step, told in parts.items()
        }
    return steps


def _overlaps(begin: float, seconds: float) -> Iterator[tuple[int, float]]:
    """Yield each step that a row's time lies in, and for how many seconds: a world may begin within a step."""
    end = begin + max(1.0, seconds)
    for step in range(math.floor(begin / STEP_SECONDS), math.ceil(end / STEP_SECONDS)):
        yield step, min(end, (step + 1.0) * STEP_SECONDS) - max(begin, float(step * STEP_SECONDS))


def _spacing(times: Sequence[float]) -> float:
    """Return the usual time between two rows: the middle one, at most an hour."""
    gaps = sorted(after - before for before, after in pairwise(times))
    return min(3_600.0, gaps[len(gaps) // 2]) if gaps else 0.0


def filled_events(
    steps: Mapping[str, Mapping[int, float]], source: Source, cycle: int, now: float
) -> Iterator[HistoryFilled]:
    """Yield what was filled in, a day of some series in each event, oldest first."""
    known = {name: one for name, one in steps.items() if one}
    if not known:
        return
    first = min(min(one) for one in known.values())
    last = max(max(one) for one in known.values())
    most = min(MOST_SERIES_FILLED, MOST_VALUES_FILLED // DAY_STEPS)
    part = 0
    for begin in range(first, last + 1, DAY_STEPS):
        days = range(begin, min(begin + DAY_STEPS, last + 1))
        every = (FilledSeries(id=name, values=_values(known[name], days)) for name in sorted(known))
        told = [one for one in every if any(value is not None for value in one.values)]
        for place in range(0, len(told), most):
            yield HistoryFilled(
                cycle=cycle,
                cluster_time_seconds=now,
                source=source,
                part=part,
                start_time_seconds=float(begin * STEP_SECONDS),
                step_seconds=float(STEP_SECONDS),
                series=tuple(told[place : place + most]),
            )
            part += 1


def _values(steps: Mapping[int, float], days: Iterable[int]) -> tuple[float | None, ...]:
    return tuple(
        float(f"{steps[step]:.{SIGNIFICANT_DIGITS}g}") if step in steps else None for step in days
    )
