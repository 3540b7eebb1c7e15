"""A comparison of two clusters as Markdown and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from lab.experiments.wording import amount, limits_text, signed_amount
from lab.live.figures import ROWS
from lab.live.scorecards import (
    LEAST_WINDOWS,
    PairedLine,
    Scorecard,
    difference_rows,
    scorecards,
)
from lab.live.windows import Comparison, StimulusWindow
from projections.figures import UNKNOWN, known_number, number

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
    parts = [
        f"# {first} beside {second}",
        _summary(comparison),
        "## Scorecards",
        *(_card(card, comparison.names) for card in scorecards(comparison)),
        "## Differences over all windows",
        _lines_table(difference_rows(comparison), comparison.names, verdicts=False),
        "## Window by window",
        *(_window(window, comparison.names) for window in comparison.windows),
        _skipped(comparison),
        "## What this is no evidence of",
        "\n".join(f"- {line}" for line in BOUNDARY),
    ]
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


def verdict_text(verdict: str, names: tuple[str, str]) -> str:
    """Return a verdict in words, such as `a better`."""
    words = {"first": f"{names[0]} better", "second": f"{names[1]} better"}
    return words.get(verdict) or verdict or "not shown"


def shown_text(line: PairedLine, names: tuple[str, str]) -> str:
    """Return a line's verdict in words; `-` where neither direction is better."""
    return verdict_text(line.verdict, names) if line.better else UNKNOWN


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


def _card(card: Scorecard, names: tuple[str, str]) -> str:
    title = f"{card.name[0].upper()}{card.name[1:]}: {verdict_text(card.verdict, names)}"
    return f"### {title}\n\n{_lines_table(card.lines, names, verdicts=True)}"


def _lines_table(lines: Iterable[PairedLine], names: tuple[str, str], *, verdicts: bool) -> str:
    heads = ["figure", "windows", *names, "difference", "interval"]
    if verdicts:
        heads += ["better", f"{names[0]} better in", f"{names[1]} better in", "shown"]
    rows = []
    for line in lines:
        row = [
            line.name.replace("_", " "), str(line.windows), _amount(line.first, line.unit),
            _amount(line.second, line.unit), _difference(line.difference.value, line.unit),
            limits_text(line.difference, line.unit),
        ]  # fmt: skip
        if verdicts:
            row += [line.better or "neither", str(line.first_better), str(line.second_better)]
            row += [shown_text(line, names)]
        rows.append(row)
    return _table(heads, rows)


def _window(window: StimulusWindow, names: tuple[str, str]) -> str:
    first, second = window.sides
    fits = ", that fit nowhere" if window.unschedulable else ""
    title = (
        f"### {window.sequence}. {window.phase}: {window.pods} pods{fits}, {number(window.seconds)} s, "
        f"{number(window.skew_seconds)} s apart"
    )
    rows = [_window_row(name, unit, first.rows, second.rows) for name, unit in ROWS.items()]
    rows += [
        _window_row(name, "", first.card, second.card) for name in first.card if name not in ROWS
    ]
    rows.append(["looks", str(first.looks), str(second.looks), ""])
    return f"{title}\n\n{_table(['figure', *names, 'difference'], rows)}"


def _window_row(
    name: str, unit: str, first: dict[str, float], second: dict[str, float]
) -> list[str]:
    a, b = first[name], second[name]
    words = name.replace("_", " ")
    return [words, _amount(a, unit), _amount(b, unit), _difference(a - b, unit)]


def _skipped(comparison: Comparison) -> str:
    if not comparison.skipped:
        return ""
    lines = [
        f"- {one.sequence}. {one.phase}, {one.status}: {one.text}" for one in comparison.skipped
    ]
    return "\n".join(["## Stimuli that neither got", "", *lines])


def _amount(value: float, unit: str) -> str:
    return amount(value, unit) if unit else known_number(value)


def _difference(value: float, unit: str) -> str:
    return signed_amount(value, unit).strip()


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    aligned = ["---", *("---:" for _ in heads[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, aligned, *rows])
