"""A day as a page, as a picture alone, and as its figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from foresail.day.day import Day
from foresail.day.plots import draw_day
from foresail.html_page import render
from foresail.plots import page_style, svg_file, svg_of
from projections.figures import number, percent


def figures_of(day: Day) -> list[tuple[str, str]]:
    """Return (name, value) of what the day comes down to, in order."""
    hours = day.seconds / 3_600.0
    rows = [
        (f"of the CPU {name}", percent(share))
        for name, share in (
            ("requested", _share(day, [moment.requested_cores for moment in day.moments])),
            ("used", _share(day, [moment.used_cores for moment in day.moments])),
        )
        if not math.isnan(share)
    ]
    if day.serves:
        rows += _request_rows(day)
    rows.append(("pods pending at most", str(max(moment.pending for moment in day.moments))))
    rows += _jobs(day)
    nodes = math.fsum(sum(moment.machines.values()) for moment in day.moments) / len(day.moments)
    rows.append(("machine hours", number(nodes * hours)))
    if day.rents:
        rows.append(("dollars for machines", number(day.dollars)))
    names = {"evicted": "evictions", "oom": "out-of-memory kills", "restart": "restarts"}
    known = ("restart",) if day.missing else tuple(names)
    return rows + [(names[mark], str(day.count(mark))) for mark in known]


def _share(day: Day, cores: Sequence[float]) -> float:
    """Return cores over the capacity of the moments at which they are known; NaN without any."""
    pairs = [
        (value, moment.capacity_cores)
        for value, moment in zip(cores, day.moments, strict=True)
        if not math.isnan(value)
    ]
    capacity = math.fsum(size for _, size in pairs)
    return math.fsum(value for value, _ in pairs) / capacity if capacity > 0.0 else math.nan


def _jobs(day: Day) -> list[tuple[str, str]]:
    """Return what became of the work of Jobs, where there was any."""
    hours = {name: seconds / 3_600.0 for name, seconds in day.work_cpu_seconds.items()}
    names = {"in time": "core hours of Jobs", "late": "core hours late", "lost": "core hours lost"}
    return [(text, number(hours[name])) for name, text in names.items() if hours.get(name)]


def _request_rows(day: Day) -> list[tuple[str, str]]:
    begin, came, failed = 0.0, 0.0, 0.0
    for moment in day.moments:
        requests = moment.requests_per_second * (moment.at_seconds - begin)
        begin = moment.at_seconds
        came += requests
        failed += requests * moment.failed_ratio
    latencies = [
        m.latency_p95_seconds for m in day.moments if not math.isnan(m.latency_p95_seconds)
    ]
    rows = [("requests", number(came)), ("failed or lost", percent(failed / came if came else 0.0))]
    if latencies:
        rows.append(("ms, the worst p95", number(1_000.0 * max(latencies))))
    return rows


def day_page(day: Day, title: str, about: str) -> str:
    """Return the page's text."""
    picture = day_svg(day, title)
    return render("day.html", title=title, about=about, figures=figures_of(day), picture=picture)


def day_picture(day: Day, title: str) -> str:
    """Return the picture alone, as SVG that loads nothing."""
    return svg_file(day_svg(day, title))


@page_style
def day_svg(day: Day, title: str) -> Any:
    """Return the picture as an SVG element."""
    return svg_of(draw_day(day), title)
