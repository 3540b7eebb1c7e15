"""A comparison of two clusters as Markdown and as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lab.experiments.markdown import table_markdown
from lab.live.scorecards import LEAST_WINDOWS, difference_rows, scorecards
from lab.live.sections import comparison_sections, verdict_text
from lab.live.windows import Comparison
from projections.figures import number

HEADINGS = {"scorecard": "Scorecards", "window": "Window by window"}
"""What stands above the first of several parts of a kind."""

BOUNDARY = (
    (
        "Two clusters are one pair. What differs between them beside their controllers (machines, versions, what else "
        "runs there) is in every figure; run it again with the two exchanged."
    ),
    (
        "Windows of one run follow each other in the same clusters, so they are less apart than an interval takes them "
        "to be."
    ),
    (
        "The stimuli are what somebody thought of, not what your users do. More of a row of the first table is neither "
        "good nor bad in itself; the scorecards say which way is better where there is one."
    ),
    "Watts are the power model's, idle power included, unless a calibration says otherwise; nobody measured them.",
    "Where no look showed a figure, it is `-` and counts for nobody.",
)


def comparison_markdown(comparison: Comparison) -> str:
    """Return the page; headings begin at the first level."""
    first, second = comparison.names
    parts = [f"# {first} beside {second}", _summary(comparison)]
    heading = ""
    for section in comparison_sections(comparison):
        if section.kind in HEADINGS and HEADINGS[section.kind] != heading:
            heading = HEADINGS[section.kind]
            parts.append(f"## {heading}")
        marks = "###" if section.kind in HEADINGS else "##"
        parts += [f"{marks} {section.title}", section.about, table_markdown(section.table)]
    parts += ["## What this is no evidence of", "\n".join(f"- {line}" for line in BOUNDARY)]
    return "\n\n".join(part for part in parts if part) + "\n"


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Return everything as plain data; NaN as it is."""
    return {
        "names": comparison.names,
        "windows": [asdict(window) for window in comparison.windows],
        "skipped": [asdict(one) for one in comparison.skipped],
        "one_sided": comparison.one_sided,
        "damage": comparison.damage,
        "differences": [asdict(line) for line in difference_rows(comparison)],
        "scorecards": [
            {**asdict(card), "verdict": verdict_text(card.verdict, comparison.names)}
            for card in scorecards(comparison)
        ],
    }


def summary_lines(comparison: Comparison) -> list[str]:
    """Return the first screen: what was compared, and who is better at what."""
    first, second = comparison.names
    windows = comparison.windows
    skew = max((window.skew_seconds for window in windows), default=0.0)
    lines = [
        (
            f"{len(windows)} stimuli in both clusters, at most {number(skew)} s apart; differences are {first} minus "
            f"{second}"
        )
    ]
    lines += [
        f"{card.name}: {verdict_text(card.verdict, comparison.names)}"
        for card in scorecards(comparison)
    ]
    if 0 < len(windows) < LEAST_WINDOWS:
        lines.append(
            f"with fewer than {LEAST_WINDOWS} windows there are no intervals, so nobody is called better: add --rounds"
        )
    lines += [f"stimulus {one} is in one log alone: not compared" for one in comparison.one_sided]
    lines += [f"not read to its end: {one}" for one in comparison.damage]
    return lines


def _summary(comparison: Comparison) -> str:
    return "\n".join(f"- {line}." for line in summary_lines(comparison))
