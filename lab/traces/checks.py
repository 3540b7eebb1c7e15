"""The checks that every table of events shares, and the cleaning that follows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from lab.traces.events import AFTER_THE_END_US, GOOGLE_END_US
from lab.traces.order import out_of_order
from lab.traces.repair import RepairLog, RowCheck
from lab.traces.tables import TableForm, read_table

LARGEST_SHARE = 2.0
"""No request or machine is this many times the largest machine; a percentage soon is."""
SHORTEST_WINDOW_US = 1_000_000
"""Most usage windows are minutes; where half of them are shorter than this, another unit was written."""
_MICROSECONDS = "times are microseconds since the trace began"


def time_checks(name: str, end_us: int | None = None) -> list[RowCheck]:
    """Times are between the trace's start and its end, where it is known."""
    time = pl.col(name)
    # The mark of the trace for "after its end" is a fault of its own.
    beyond = time > (AFTER_THE_END_US if end_us is None else end_us)
    return [
        RowCheck("null-key", name, time.is_null(), "every event has a time"),
        RowCheck("negative-time", name, time < 0, _MICROSECONDS),
        RowCheck(
            "sentinel-time", name, time == AFTER_THE_END_US, "the trace's mark for: after its end"
        ),
        RowCheck("wrong-unit", name, beyond, f"{_MICROSECONDS}, and it had ended by then"),
    ]


def google_time_checks(name: str) -> list[RowCheck]:
    """Times of a trace of Google's, all of which are of a month."""
    return time_checks(name, GOOGLE_END_US)


def start_checks(name: str, start_us: int) -> list[RowCheck]:
    """Nothing happens between the state before the trace, at time 0, and its start."""
    early = (pl.col(name) > 0) & (pl.col(name) < start_us)
    remedy = f"{_MICROSECONDS}, whose first event is at {start_us} (before it there is only time 0)"
    return [RowCheck("wrong-unit", name, early, remedy)]


def window_checks(start: str, end: str) -> list[RowCheck]:
    """Most usage windows are of minutes, which tells microseconds from a coarser unit."""
    length = pl.col(end) - pl.col(start)
    coarse = (length.filter(length > 0).median() < SHORTEST_WINDOW_US) & (length > 0)
    remedy = f"{_MICROSECONDS}; half of the windows would last less than a second"
    return [RowCheck("wrong-unit", end, coarse, remedy)]


def share_checks(*names: str) -> list[RowCheck]:
    """Requests and capacities are amounts, in shares of the largest machine."""
    remedy = "amounts are shares of the largest machine, 0 to 1"
    shares = [RowCheck("wrong-unit", name, pl.col(name) > LARGEST_SHARE, remedy) for name in names]
    return [*amount_checks(*names), *shares]


def key_checks(*names: str) -> list[RowCheck]:
    """Keys that rows are joined by must be there."""
    return [
        RowCheck("null-key", name, pl.col(name).is_null(), "rows are joined by it")
        for name in names
    ]


def code_checks(name: str, table: Mapping[int, int], trace: str) -> list[RowCheck]:
    """Event codes are those of the trace's own table."""
    known = ", ".join(str(code) for code in table)
    return [
        RowCheck("unknown-code", name, ~pl.col(name).is_in(list(table)), f"{trace} knows {known}"),
        RowCheck("null-key", name, pl.col(name).is_null(), "every event has a type"),
    ]


def amount_checks(*names: str) -> list[RowCheck]:
    """Requests and capacities are finite and not negative."""
    return [
        RowCheck(
            "negative-amount",
            name,
            (pl.col(name) < 0) | pl.col(name).is_infinite(),
            "amounts are finite, 0 or more",
        )
        for name in names
    ]


def row_in_input(before: int) -> pl.Expr:
    """Return the column `row` counted from 0 over all files, `before` of them in earlier files."""
    return (pl.col("row") - 1 + before).alias("row")


def checked_rows(
    paths: Sequence[Path],
    form: TableForm,
    ledger: RepairLog,
    checks: Sequence[RowCheck],
    order: Sequence[str] = (),
    later: Sequence[RowCheck] = (),
) -> Iterator[tuple[Path, int, pl.DataFrame]]:
    """Yield (file, rows in the files before, good rows) of a table's files.

    `order` names the columns that must not go back from row to row and file to file; `later` are checks of what
    stands in order.

    Raises:
        SchemaDrift: a row is bad and repair is off; or more rows are bad than good.
    """
    keeps_order = _Order(order, ledger)
    if order and ledger.repair:
        keeps_order.look_ahead(frame for _, _, frame in _rows(paths, form, RepairLog(True), checks))
    good_rows, aside_before = 0, ledger.rows_set_aside
    for path, before, frame in _rows(paths, form, ledger, checks):
        good = ledger.judge(keeps_order.judge(frame, path.name), path.name, later)
        good_rows += good.height
        if good.height:
            yield path, before, good
    ledger.refuse_ruin(form.table, good_rows, ledger.rows_set_aside - aside_before)


def _rows(
    paths: Sequence[Path], form: TableForm, ledger: RepairLog, checks: Sequence[RowCheck]
) -> Iterator[tuple[Path, int, pl.DataFrame]]:
    """Yield (file, rows in the files before, rows that are good by themselves)."""
    before = 0
    for path in paths:
        rows_seen = 0
        ledger.begin_file(path.name, before)
        for frame in read_table(path, form, ledger):
            rows_seen = int(frame["row"][-1])
            yield path, before, ledger.judge(frame, path.name, checks)
        before += rows_seen


class _Order:
    """Judges rows that go back: without repair the first, with repair the fewest."""

    def __init__(self, columns: Sequence[str], ledger: RepairLog) -> None:
        self._columns = columns
        self._ledger = ledger
        self._newest: dict[str, int] = {}
        self._bad: dict[str, np.ndarray] = {}
        self._place = 0

    def look_ahead(self, frames: Iterator[pl.DataFrame]) -> None:
        """Choose the rows to set aside, of all that will be judged."""
        parts = [frame.select(name for name in self._columns if name in frame) for frame in frames]
        table = pl.concat([pl.DataFrame(), *parts], how="diagonal")
        left = np.arange(table.height)
        for name in self._columns:
            bad = np.zeros(table.height, bool)
            if name in table.columns and not table[name].null_count():
                bad[left] = out_of_order(table[name].to_numpy()[left])
            self._bad[name] = bad
            left = left[~bad[left]]

    def judge(self, frame: pl.DataFrame, file: str) -> pl.DataFrame:
        """Return the rows that stand in order."""
        whole = slice(self._place, self._place + frame.height)
        self._place = whole.stop
        good = frame.with_row_index("_place")
        for name in self._columns:
            if name not in frame.columns or frame[name].null_count():
                continue
            if self._ledger.repair:
                bad = pl.Series(self._bad[name][whole])[good["_place"]]
            else:
                bad = self._falls(good[name], name)
            check = RowCheck("out-of-order", name, pl.col("_bad"), f"no {name} goes back")
            good = self._ledger.judge(good.with_columns(bad.alias("_bad")), file, [check])
        return good.select(frame.columns)

    def _falls(self, values: pl.Series, name: str) -> pl.Series:
        """Say which values are less than one before."""
        if values.is_empty():
            return pl.Series([], dtype=pl.Boolean)
        latest = values.cum_max().clip(lower_bound=self._newest.get(name))
        self._newest[name] = int(latest[-1])
        return values < latest
