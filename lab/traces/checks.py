"""The checks that every table of events shares, and the cleaning that follows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from lab.traces.events import AFTER_THE_END_US
from lab.traces.repair import Check, Ledger
from lab.traces.tables import TableForm, read_table


def time_checks(name: str) -> list[Check]:
    """Times are between the trace's start and its end."""
    time = pl.col(name)
    return [
        Check("null-key", name, time.is_null(), "every event has a time"),
        Check("negative-time", name, time < 0, "times are microseconds since the trace began"),
        Check(
            "sentinel-time", name, time == AFTER_THE_END_US, "the trace's mark for: after its end"
        ),
    ]


def key_checks(*names: str) -> list[Check]:
    """Keys that rows are joined by must be there."""
    return [
        Check("null-key", name, pl.col(name).is_null(), "rows are joined by it") for name in names
    ]


def code_checks(name: str, table: Mapping[int, int], trace: str) -> list[Check]:
    """Event codes are those of the trace's own table."""
    known = ", ".join(str(code) for code in table)
    return [
        Check("unknown-code", name, ~pl.col(name).is_in(list(table)), f"{trace} knows {known}"),
        Check("null-key", name, pl.col(name).is_null(), "every event has a type"),
    ]


def amount_checks(*names: str) -> list[Check]:
    """Requests and capacities are finite and not negative."""
    return [
        Check(
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
    ledger: Ledger,
    checks: Sequence[Check],
    time: str | None,
) -> Iterator[tuple[Path, int, pl.DataFrame]]:
    """Yield (file, rows in the files before, good rows) of a table's files.

    `time` names the column that must not go back from row to row and file to file; None where the
    trace promises no order.
    """
    before, newest = 0, -1
    for path in paths:
        rows_seen = 0
        ledger.begin_file(path.name, before)
        for frame in read_table(path, form, ledger):
            rows_seen = int(frame["row"][-1])
            good = ledger.judge(frame, path.name, checks)
            if time is not None:
                good, newest = _in_order(good, path.name, time, newest, ledger)
            if good.height:
                yield path, before, good
        before += rows_seen


def _in_order(
    frame: pl.DataFrame, file: str, time: str, newest: int, ledger: Ledger
) -> tuple[pl.DataFrame, int]:
    """A row is out of order when one before it, set aside or not, is later."""
    latest = frame.select(pl.max_horizontal(pl.col(time).cum_max(), pl.lit(newest))).to_series()
    check = Check("out-of-order", time, pl.col(time) < latest, "times do not go back")
    last = int(latest[-1]) if latest.len() else newest
    return ledger.judge(frame, file, [check]), last
