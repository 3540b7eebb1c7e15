"""The page of what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lab.calibration.table import FEWEST, LEAST_RATIO, MOST_RATIO, KindTable

HEAD = """# Expected and observed effects

Made by

    {command}

which plays the worlds of these seeds under profile `{profile}` (code {code}) and branches some of their actions; what
is measured, and how, is in [calibration](calibration.md). Money is USD, the mean of an action over its horizon; the
ratio is that of the sums, its 95 % interval by drawing worlds. {worlds} worlds were played."""

COLUMNS = ("kind", "samples of actions", "worlds", "expected", "observed", "in the score alone",
           "observed / expected", "95 %", "within 8-of-10 interval", "worst tenth", "")  # fmt: skip


def markdown(
    tables: Sequence[KindTable], *, command: str, profile: str, code: str, worlds: int
) -> str:
    """Return the page."""
    parts = [
        HEAD.format(command=command, profile=profile, code=code, worlds=worlds),
        overview(tables),
    ]
    parts.append(
        f"A kind is calibrated from {LEAST_RATIO:g} to {MOST_RATIO:g} with {FEWEST} samples or more."
    )
    parts += ["## By quarters of what was expected", _quarters(tables)]
    parts += ["## By component of the score", _terms(tables)]
    return "\n\n".join(parts) + "\n"


def overview(tables: Sequence[KindTable]) -> str:
    """Return the table of all kinds."""
    rows = [
        (
            f"`{one.kind}`",
            f"{one.count} of {one.executed}",
            str(one.worlds),
            money(one.expected),
            money(one.observed),
            money(one.score),
            ratio_text(one.ratio),
            interval_text(one),
            f"{100 * one.within:.0f} %",
            money(one.worst),
            one.verdict,
        )
        for one in tables
    ]
    return _table(COLUMNS, rows)


def _quarters(tables: Sequence[KindTable]) -> str:
    rows = [
        (f"`{one.kind}`", str(number), str(part.count), money(part.expected), money(part.observed))
        for one in tables
        for number, part in enumerate(one.quarters, 1)
    ]
    return _table(("kind", "quarter", "samples", "expected", "observed"), rows)


def _terms(tables: Sequence[KindTable]) -> str:
    rows = [
        (f"`{one.kind}`", name.replace("_", " "), money(expected), money(observed))
        for one in tables
        for name, (expected, observed) in one.terms.items()
        if max(abs(expected), abs(observed)) >= 1e-5
    ]
    return _table(("kind", "component", "expected", "observed"), rows)


def money(amount: float) -> str:
    """Return an amount with its sign."""
    return f"{amount:+.3g}"


def ratio_text(ratio: float) -> str:
    """Return a ratio; a dash where nothing was expected."""
    return "-" if math.isnan(ratio) else f"{ratio:.2f}"


def interval_text(table: KindTable) -> str:
    """Return the ratio's interval; a dash where worlds are too few for one."""
    return "-" if math.isnan(table.low) else f"{table.low:.2f} to {table.high:.2f}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)
