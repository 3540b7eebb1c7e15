"""A comparison of two clusters in parts: scorecards, the eleven difference rows, window by window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lab.experiments.section import Section, Table
from lab.experiments.wording import amount, limits_text, signed_amount
from lab.live.figures import ROWS
from lab.live.scorecards import PairedLine, difference_rows, scorecards
from lab.live.windows import Comparison, StimulusWindow
from projections.figures import UNKNOWN, known_number, number

Names = tuple[str, str]
MORE_IS_NOT_BETTER = (
    "Means over the looks of all windows. More of one is neither good nor bad by itself."
)


def comparison_sections(comparison: Comparison) -> Iterator[Section]:
    """Yield the parts of the report, in their order."""
    names = comparison.names
    for place, card in enumerate(scorecards(comparison)):
        title = f"{card.name[0].upper()}{card.name[1:]}: {verdict_text(card.verdict, names)}"
        table = _lines_table(card.lines, names, verdicts=True)
        yield Section("scorecard", title, "", table, place=place)
    rows = _lines_table(difference_rows(comparison), names, verdicts=False)
    yield Section("difference", "Differences over all windows", MORE_IS_NOT_BETTER, rows)
    for window in comparison.windows:
        yield _window(window, names)
    if comparison.skipped:
        skipped = tuple(
            (f"{one.sequence}. {one.phase}", one.status, one.text) for one in comparison.skipped
        )
        table = Table(("stimulus", "status", "why"), skipped, names=3)
        yield Section("skipped", "Stimuli that neither got", "", table)


def verdict_text(verdict: str, names: Names) -> str:
    """Return a verdict in words, such as `a better`."""
    words = {"first": f"{names[0]} better", "second": f"{names[1]} better"}
    return words.get(verdict) or verdict or "not shown"


def shown_text(line: PairedLine, names: Names) -> str:
    """Return a line's verdict in words; `-` where neither direction is better."""
    return verdict_text(line.verdict, names) if line.better else UNKNOWN


def _lines_table(lines: Iterable[PairedLine], names: Names, *, verdicts: bool) -> Table:
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
        rows.append(tuple(row))
    return Table(tuple(heads), tuple(rows))


def _window(window: StimulusWindow, names: Names) -> Section:
    first, second = window.sides
    fits = ", that fit nowhere" if window.unschedulable else ""
    title = (
        f"{window.sequence}. {window.phase}: {window.pods} pods{fits}, {number(window.seconds)} s, "
        f"{number(window.skew_seconds)} s apart"
    )
    rows = [_window_row(name, unit, first.rows, second.rows) for name, unit in ROWS.items()]
    rows += [
        _window_row(name, "", first.card, second.card) for name in first.card if name not in ROWS
    ]
    rows.append(("looks", str(first.looks), str(second.looks), ""))
    table = Table(("figure", *names, "difference"), tuple(rows))
    return Section("window", title, "", table, place=window.sequence)


def _window_row(
    name: str, unit: str, first: dict[str, float], second: dict[str, float]
) -> tuple[str, ...]:
    a, b = first[name], second[name]
    words = name.replace("_", " ")
    return words, _amount(a, unit), _amount(b, unit), _difference(a - b, unit)


def _amount(value: float, unit: str) -> str:
    return amount(value, unit) if unit else known_number(value)


def _difference(value: float, unit: str) -> str:
    return signed_amount(value, unit).strip()
