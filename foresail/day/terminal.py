"""A day in a terminal: one line of bars for each series, all on one axis of time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from foresail.day.day import MARKS, Day
from foresail.day.pages import figures_of
from foresail.day.plots import MINUTES
from projections.figures import known_number
from projections.times import clock

CORES = " cores"
BARS = " ▁▂▃▄▅▆▇█"
NAMES = 26
RANGE = 24
LEAST_COLUMNS, MOST_COLUMNS = 24, 96


def day_lines(day: Day, columns: int) -> Iterator[str]:
    """Yield the lines for a terminal of so many columns."""
    width = max(LEAST_COLUMNS, min(MOST_COLUMNS, columns - NAMES - RANGE - 2, len(day.moments)))
    cores = max(moment.capacity_cores for moment in day.moments)  # one scale for all of CPU
    for name, unit, values in _series(day):
        bins = _bins(values, width)
        known = [value for value in values if not math.isnan(value)]
        most = max(known, default=0.0)
        text = f"up to {known_number(most)}{unit}" if known else "nothing"
        yield f"{name:<{NAMES}}{_bars(bins, max(most, cores) if unit == CORES else most)}  {text}"
    yield f"{'':<{NAMES}}{_axis(day, width)}"
    for lane, spans in (row for _, rows in day.groups() for row in rows):
        cells = [" "] * width
        for span in spans:
            first = min(width - 1, int(width * span.begin / day.seconds))
            last = min(width - 1, int(width * span.end / day.seconds))
            cells[first : last + 1] = "█" * (last + 1 - first)
        names = ", ".join(dict.fromkeys(span.name for span in spans))
        yield f"{lane:<{NAMES}}{''.join(cells)}  {names}"
    for mark, name in MARKS.items():
        if day.count(mark):
            counts = [float(moment.marks.get(mark, 0)) for moment in day.moments]
            bins = _sums(counts, width)
            yield f"{name:<{NAMES}}{_bars(bins, max(bins))}  {day.count(mark)}"
    yield ""
    yield "  ".join(f"{value} {name}" for name, value in figures_of(day))


def _series(day: Day) -> Iterator[tuple[str, str, list[float]]]:
    moments = day.moments
    yield "CPU allocatable", CORES, [moment.capacity_cores for moment in moments]
    yield "CPU requested", CORES, [moment.requested_cores for moment in moments]
    yield "CPU used", CORES, [moment.used_cores for moment in moments]
    if day.serves:
        yield "requests", " a second", [moment.requests_per_second for moment in moments]
        yield "latency, p95", " ms", [1_000.0 * moment.latency_p95_seconds for moment in moments]
        if any(moment.failed_ratio for moment in moments):
            yield "failed or lost", "%", [100.0 * moment.failed_ratio for moment in moments]
    yield "pods without a node", "", [float(moment.pending) for moment in moments]
    yield "ready machines", "", [float(sum(moment.machines.values())) for moment in moments]
    if day.rents:
        yield (
            "price of machines",
            " dollars an hour",
            [moment.dollars_per_hour for moment in moments],
        )


def _groups(values: Sequence[float], width: int) -> Iterator[list[float]]:
    for place in range(width):
        first = len(values) * place // width
        last = max(first + 1, len(values) * (place + 1) // width)
        yield [value for value in values[first:last] if not math.isnan(value)]


def _bins(values: Sequence[float], width: int) -> list[float]:
    return [max(group) if group else math.nan for group in _groups(values, width)]


def _sums(values: Sequence[float], width: int) -> list[float]:
    return [math.fsum(group) for group in _groups(values, width)]


def _bars(bins: Sequence[float], most: float) -> str:
    if most <= 0.0:
        return BARS[0] * len(bins)
    return "".join(
        BARS[0] if math.isnan(value) else BARS[math.ceil((len(BARS) - 1) * value / most - 1e-9)]
        for value in bins
    )


def _axis(day: Day, width: int) -> str:
    """Return the hours, each where its time is."""
    cells = [" "] * width
    for place in range(0, width - 4, max(12, width // 8)):
        seconds = day.start_time + day.seconds * place / width
        cells[place : place + 5] = clock(seconds)[:MINUTES]
    return "".join(cells[:width])
