"""What to do about rows that are not what the trace's format says: stop, or set aside and count.

Guarantee: no row is dropped or changed silently. Without `--repair` the first bad row (in file
order) is a `SchemaDrift` that names file, row, field and fault; with it every bad row is counted in
the repair report by file, field and fault, with its first examples. What damages a whole file
cannot be repaired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from bus.errors import InputError

EXAMPLES = 3


class SchemaDrift(InputError):
    """An input is not in its trace's form."""

    def __init__(self, fault: str, where: str, value: object, remedy: str) -> None:
        """Name the fault, the file (with row and field), the value found and the remedy."""
        super().__init__(where, value, f"{fault}: {remedy}")
        self.fault = fault


@dataclass(frozen=True)
class RowCheck:
    """One thing that can be wrong with a row."""

    fault: str
    """unknown-code, null-key, wrong-type, negative-time, sentinel-time, out-of-order, duplicate,
    column-count."""
    field: str
    bad: pl.Expr
    """True on rows that are wrong; null counts as right."""
    remedy: str


@dataclass
class RepairLog:
    """Judges rows, and keeps account of those set aside."""

    repair: bool
    _counts: dict[tuple[str, str, str], int] = field(default_factory=dict)
    _examples: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)
    _files: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What a reader wants its users to know, once each."""
    rows_set_aside: int = 0
    """So far, of all files."""

    def judge(self, frame: pl.DataFrame, file: str, checks: Sequence[RowCheck]) -> pl.DataFrame:
        """Return the good rows; column `row` counts a file's rows from 1.

        A row with several faults is counted under its first.

        Raises:
            SchemaDrift: a row is bad and repair is off.
        """
        if not checks:
            return frame
        bad = frame.select(
            check.bad.fill_null(value=False).alias(str(index)) for index, check in enumerate(checks)
        )
        wrong = bad.select(pl.any_horizontal(pl.all())).to_series()
        if not wrong.any():
            return frame
        if not self.repair:
            raise _drift(frame, bad, wrong, file, checks)
        left = frame.filter(wrong)
        faults = bad.filter(wrong)
        for index, check in enumerate(checks):
            mine = faults[str(index)]
            self._set_aside(left.filter(mine), file, check)
            left, faults = left.filter(~mine), faults.filter(~mine)
        return frame.filter(~wrong)

    def _set_aside(self, rows: pl.DataFrame, file: str, check: RowCheck) -> None:
        if rows.is_empty():
            return
        key = (file, check.field, check.fault)
        self._counts[key] = self._counts.get(key, 0) + rows.height
        self.rows_set_aside += rows.height
        shown = self._examples.setdefault(key, [])
        for index in range(min(rows.height, EXAMPLES - len(shown))):
            shown.append(f"row {rows['row'][index]}: {_value(rows, index, check.field)}")

    def begin_table(self) -> None:
        """Forget the files of the table before."""
        self._files = []

    def begin_file(self, file: str, rows_before: int) -> None:
        """Remember that the table's rows from `rows_before` on, over all files, are this file's."""
        self._files.append((rows_before, file))

    def judge_repeats(self, frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
        """Return the rows that repeat no other one's `columns`; `row` counts over all files.

        Rows that were judged under another table before (usage beside its events) may repeat.

        Raises:
            SchemaDrift: a row repeats another one and repair is off.
        """
        if not self._files:
            return frame
        repeats = ~frame.select(pl.struct(columns).is_first_distinct()).to_series()
        if not repeats.any():
            return frame
        check = RowCheck(
            "duplicate", "row", pl.col("row").is_not_null(), "the same event stands before"
        )
        ends = [*(start for start, _ in self._files[1:]), int(frame["row"].to_numpy().max()) + 1]
        for (start, file), end in zip(self._files, ends, strict=True):
            mine = repeats & frame["row"].is_between(start, end, closed="left")
            self.judge(frame.filter(mine).with_columns(pl.col("row") - (start - 1)), file, [check])
        return frame.filter(~repeats)

    def refuse_ruin(self, table: str, good_rows: int, set_aside: int) -> None:
        """Stop where more rows of a table were set aside than kept: not rows are wrong then, but how it is read.

        Raises:
            SchemaDrift: they were.
        """
        if set_aside <= good_rows:
            return
        (file, name, fault), count = max(self._counts.items(), key=lambda item: item[1])
        rows = f"{set_aside:,} of {set_aside + good_rows:,} rows are bad"
        most = f"{count:,} of them {fault} in {file}, {name}"
        remedy = f"{rows}, {most}; that is more than --repair leaves out: mend the table"
        kept = f"{good_rows:,} events"
        raise SchemaDrift("too-many-bad" if good_rows else "empty", table, kept, remedy)

    def note(self, text: str) -> None:
        """Keep a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    def report(self) -> list[dict[str, object]]:
        """Return what was set aside, by file, field and fault, as JSON values."""
        return [
            {
                "file": file,
                "field": name,
                "fault": fault,
                "rows": count,
                "examples": self._examples[key],
            }
            for key, count in self._counts.items()
            for file, name, fault in [key]
        ]


def _drift(
    frame: pl.DataFrame, bad: pl.DataFrame, wrong: pl.Series, file: str, checks: Sequence[RowCheck]
) -> SchemaDrift:
    index = wrong.arg_max() or 0
    check = next(check for number, check in enumerate(checks) if bad[str(number)][index])
    where = f"{file} row {frame['row'][index]}, {check.field}"
    value = _value(frame, index, check.field)
    return SchemaDrift(check.fault, where, value, f"{check.remedy}; mend it, or pass --repair")


def _value(rows: pl.DataFrame, index: int, name: str) -> object:
    return rows[name][index] if name in rows.columns else "?"
