"""A day as a page, as a picture alone, and as its figures."""

from __future__ import annotations

import math

from foresail.day.drawing import draw_day
from foresail.day.samples import Day
from foresail.html_page import render
from projections.figures import number, percent


def figures_of(day: Day) -> list[tuple[str, str]]:
    """Return (name, value) of what the day comes down to, in order."""
    hours = day.seconds / 3_600.0
    capacity = math.fsum(moment.capacity_cores for moment in day.moments)
    rows = []
    if capacity > 0.0:
        requested = math.fsum(moment.requested_cores for moment in day.moments) / capacity
        used = math.fsum(moment.used_cores for moment in day.moments) / capacity
        rows += [("of the CPU requested", percent(requested)), ("of the CPU used", percent(used))]
    if day.serves:
        rows += _served(day)
    rows.append(("pods pending at most", str(max(moment.pending for moment in day.moments))))
    nodes = math.fsum(sum(moment.machines.values()) for moment in day.moments) / len(day.moments)
    rows.append(("machine hours", number(nodes * hours)))
    if day.rents:
        rows.append(("dollars for machines", number(day.dollars)))
    names = {"evicted": "evictions", "oom": "out-of-memory kills", "restart": "restarts"}
    rows += [(text, str(day.count(mark))) for mark, text in names.items()]
    return rows


def _served(day: Day) -> list[tuple[str, str]]:
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
    return render(
        "day.html", title=title, about=about, figures=figures_of(day), picture=draw_day(day)
    )


def day_picture(day: Day, title: str) -> str:
    """Return the picture alone, as SVG that loads nothing."""
    text = render("day.svg", title=title, picture=draw_day(day))
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip()) + "\n"
