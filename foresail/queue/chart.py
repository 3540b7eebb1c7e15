"""The benchmark's chart: the predecessors' six bars, wait and slowdown, an arm beside the other."""

from __future__ import annotations

import math
from typing import Any

from foresail.plots import COLOURS, empty_figure, page_style, set_tip, svg_of
from lab.queue.accounts import METRICS
from lab.queue.comparing import QueueComparison

SHOWN = (
    ("throughput", "Throughput"),
    ("success_rate", "Success rate"),
    ("avg_queue_length", "Mean queue length"),
    ("oom_incidents", "Kills for want of memory"),
    ("cpu_utilization", "CPU used"),
    ("memory_utilization", "Memory used"),
    ("mean_wait_minutes", "Mean wait"),
    ("mean_bounded_slowdown", "Mean bounded slowdown"),
)
"""Two columns, row by row; theirs first."""
WIDTH, LEFT, RIGHT, TOP, GAP, BAR = 1_100, 190, 30, 40, 54, 18
"""Pixels."""


@page_style
def benchmark_svg(comparison: QueueComparison) -> Any:
    """Return the chart: a bar for each arm, with the interval of its mean over seeds."""
    arms = list(comparison.arms)
    high = BAR * len(arms)
    rows = math.ceil(len(SHOWN) / 2)
    figure, add_axes = empty_figure(WIDTH, TOP + rows * (high + GAP))
    wide = (WIDTH - 2 * (LEFT + RIGHT)) // 2
    for place, (name, title) in enumerate(SHOWN):
        row, column = divmod(place, 2)
        axes = add_axes(LEFT + column * (wide + LEFT + RIGHT), TOP + row * (high + GAP), wide, high)
        for at, arm in enumerate(arms):
            one = comparison.metric(arm, name)
            if math.isnan(one.mean):
                continue
            colour = COLOURS["front" if arm == comparison.reference else "soft"]
            (bar,) = axes.barh([at], [one.mean], height=0.7, color=colour)
            set_tip(bar, f"{arm}: {one.text} {METRICS[name]}")
            if not math.isnan(one.low):
                axes.plot([one.low, one.high], [at, at], color=COLOURS["ink"], lw=1.5)
        axes.set_yticks(range(len(arms)), arms)
        axes.set_ylim(len(arms) - 0.5, -0.5)
        axes.set_xlim(left=0.0)
        unit = METRICS[name]
        axes.set_title(f"{title} ({unit})" if unit else title)
        axes.grid(visible=False, axis="y")
    return svg_of(figure, f"{comparison.name}: {len(arms)} arms by eight figures")
