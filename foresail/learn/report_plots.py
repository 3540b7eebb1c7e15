"""The pictures of a comparison's page: performance profiles, and gains over the best rule with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foresail.plots import COLOURS, LINES, new_figure, page_style, set_tip, svg_of
from lab.learning.comparison.judgement import THRESHOLDS, WorkloadJudgement
from lab.learning.comparison.overall import Overall
from lab.learning.comparison.report import PROFILE, Report
from projections.figures import number, percent

WIDTH, HEIGHT, ROW_HEIGHT, LEFT, RIGHT = 1100, 380, 28, 240, 40
MOST_RULES = 4
"""Rules drawn in a profile, beside every learned policy: more lines than colours say nothing."""


def plots_of(report: Report) -> dict[str, Any]:
    """Return pictures by the title of the section that they stand in."""
    if not report.judgements:
        return {}
    plots = {PROFILE: profile_svg(report.together)}
    for one in report.judgements:
        if one.learned():
            plots[one.workload] = gains_svg(one)
    return plots


@page_style
def profile_svg(arms: Sequence[Overall]) -> Any:
    """Return the shares of seeds and streams at or below each multiple of the best rule's slowdown."""
    figure, (axes,) = new_figure((WIDTH, HEIGHT), (90, RIGHT, 30, 56))
    rules = [one for one in arms if not one.arm.learned][:MOST_RULES]
    shown = [*(one for one in arms if one.arm.learned), *rules]
    axes.axvline(1.0, color=COLOURS["ink"], lw=1)
    for place, one in enumerate(shown):
        colour = COLOURS[LINES[place % len(LINES)]]
        style = "-" if one.arm.learned else "--"
        shares = [100 * share.value for share in one.profile]
        (line,) = axes.plot(THRESHOLDS, shares, style, color=colour, lw=2, label=one.arm.name)
        set_tip(line, one.arm.name)
        if one.arm.learned:
            low, high = ([100 * getattr(s, end) for s in one.profile] for end in ("low", "high"))
            axes.fill_between(THRESHOLDS, low, high, color=colour, alpha=0.15, lw=0)
    axes.set_xscale("log")
    axes.set_xticks(THRESHOLDS, [number(one) for one in THRESHOLDS])
    axes.legend(loc="lower right")
    axes.set_title("share of seeds and streams at or below, %", x=-0.06)
    axes.set_xlabel("slowdown over the best rule's on the same stream", loc="right")
    return svg_of(figure, "share of seeds and streams by slowdown over the best rule's")


@page_style
def gains_svg(one: WorkloadJudgement) -> Any:
    """Return by how much each arm's slowdown is below the best rule's, with intervals; learned policies in colour."""
    rows = [standing for standing in one.standings if standing.gain is not None]
    figure, (axes,) = new_figure((WIDTH, 64 + len(rows) * ROW_HEIGHT), (LEFT, RIGHT, 34, 30))
    axes.axvline(0.0, color=COLOURS["ink"], lw=1)
    for row, standing in enumerate(rows):
        gain = standing.gain
        assert gain is not None
        colour = COLOURS["foresail" if standing.played.arm.learned else "soft"]
        known = gain.low == gain.low
        low, high = (gain.low, gain.high) if known else (gain.value, gain.value)
        # A rule many times worse would leave the others no room.
        drawn = [max(-1.0, each) * 100 for each in (low, high, gain.value)]
        (line,) = axes.plot(drawn[:2], [row, row], color=colour, lw=2.5)
        (mark,) = axes.plot(drawn[2], row, "s", ms=9, color=colour)
        for artist in (line, mark):
            limits = f"{percent(low)} to {percent(high)}"
            set_tip(artist, f"{standing.played.arm.name}: {percent(gain.value)} ({limits})")
    axes.set_yticks(range(len(rows)), [standing.played.arm.name for standing in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set_title(f"slowdown below {one.best_rule}'s, % (cut at -100)")
    axes.set_title("better \u2192", loc="right", color=COLOURS["soft"])
    return svg_of(figure, f"{one.workload}: slowdown below the best rule's")
