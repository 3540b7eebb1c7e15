"""Large state is columns: row ids once, one array per signal, and deltas between two tables.

5,000 nodes as columns are about 0.5 MB and 3 ms to validate; as row objects 4 to 5 MB and 100 ms. A
`Table` has one id column named `ids`, sorted, and further columns of equal length. `diff_tables` and
`apply_delta` are exact inverses:
`apply(old, diff(old, new)) == new`, byte for byte once encoded.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import operator
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import Any, ClassVar, Literal, Self, TypeVar, cast, get_args, get_origin

from pydantic import model_validator

from schemas.model import DataModel
from schemas.numbers import Cycle

Scalar = bool | int | float | str | None
"""What a cell may hold."""


class Table(DataModel):
    """Rows with sorted, unique `ids` and one tuple per column, all of the same length."""

    MAY_BE_EMPTY: ClassVar[frozenset[str]] = frozenset()
    """Columns that a table of any length may lack; such a table travels whole, never as a delta."""

    ids: tuple[str, ...] = ()
    """Row ids, sorted and unique."""

    @model_validator(mode="after")
    def _columns_fit(self) -> Self:
        rows = len(self.ids)
        for name, column in self:
            if len(column) != rows and (column or name not in self.MAY_BE_EMPTY):
                raise ValueError(f"column {name!r} has {len(column)} cells for {rows} rows")
        if any(left >= right for left, right in zip(self.ids, self.ids[1:], strict=False)):
            raise ValueError("ids must be sorted and unique")
        return self

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.ids)

    def row(self, index: int) -> dict[str, Any]:
        """Return one row as a dict, `ids` included, without the columns that are empty."""
        return {name: column[index] for name, column in self if column}

    def index(self) -> dict[str, int]:
        """Return row id to row number."""
        return {row_id: number for number, row_id in enumerate(self.ids)}


class CellChanges(DataModel):
    """New values of one column: `values[i]` goes to row number `rows[i]` of the new table."""

    rows: tuple[int, ...]
    values: tuple[Scalar, ...]


class TableDelta(DataModel):
    """Difference between one table and the next."""

    removed: tuple[str, ...] = ()
    """Row ids that went."""
    added: tuple[str, ...] = ()
    """Row ids that came; their cells are all in `cells`."""
    cells: dict[str, CellChanges] = {}
    """Changed cells by column, rows numbered as in the new table."""


AnyTable = TypeVar("AnyTable", bound=Table)


def table_of(kind: type[AnyTable], rows: Mapping[str, Mapping[str, Any]]) -> AnyTable:
    """Build a table from rows by id; every row must hold every column of `kind` but `ids`.

    Raises:
        ValueError: a cell does not fit its column.
    """
    ids = tuple(sorted(rows))
    if not ids:
        return kind()
    # Sorted, unique and of one length by construction; the cells of each row are validated.
    columns = zip(*_validated_rows(kind, [rows[row_id] for row_id in ids]), strict=True)
    cells: dict[str, Any] = dict(zip(_cell_names(kind), columns, strict=True))
    return cast("AnyTable", kind.model_construct(None, ids=ids, **cells))


MOST_KNOWN_ROWS = 16_384
"""Rows of a larger table are validated anew each time."""
Cells = tuple[Scalar, ...]


@dataclass(slots=True)
class _KnownRows:
    """Cells of the two newest tables of a kind, as they travel, by what was given: a cache of pure results.

    Most rows are as they were a cycle ago; two, since two worlds may be observed in turn. Older ones are
    forgotten once they are as many.
    """

    newest: tuple[Sequence[Cells], Sequence[Cells]] = ((), ())
    """What was given for the newest table, and what came of it."""
    cells: dict[Cells, Cells] = field(default_factory=dict)


_known_rows: dict[type[Table], _KnownRows] = defaultdict(_KnownRows)


def _validated_rows(kind: type[Table], rows: Sequence[Mapping[str, Any]]) -> list[Cells]:
    """Return each row's cells as they travel: rounded, and of their column's types."""
    names = _cell_names(kind)
    given: list[Cells] = list(map(_cells_of(names), rows))
    if len(rows) > MOST_KNOWN_ROWS:
        return _validated(kind, given)
    memory = _known_rows[kind]
    known = memory.cells
    found = list(map(known.get, given))
    if not all(found):  # no row is empty
        unknown = list(dict.fromkeys(itertools.compress(given, [row is None for row in found])))
        known.update(zip(unknown, _validated(kind, unknown), strict=True))
        found = [
            known[cells] if row is None else row for cells, row in zip(given, found, strict=True)
        ]
    validated = cast("list[Cells]", found)
    before, memory.newest = memory.newest, (given, validated)
    if len(known) > 2 * (len(given) + len(before[0])):
        memory.cells = dict(zip(*before, strict=True))
        memory.cells.update(zip(given, validated, strict=True))
    return validated


def _validated(kind: type[Table], rows: Sequence[Cells]) -> list[Cells]:
    names = _cell_names(kind)
    ids = tuple([f"{number:09}" for number in range(len(rows))])
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    checked = kind.model_validate({"ids": ids, **columns})
    return list(zip(*(getattr(checked, name) for name in names), strict=True))


def _cells_of(names: tuple[str, ...]) -> Callable[[Mapping[str, Any]], Cells]:
    """Return what picks a row's cells; `itemgetter` gives a single one without a tuple around it."""
    if len(names) == 1:
        return lambda row: (row[names[0]],)
    return itemgetter(*names)


@lru_cache(maxsize=64)  # a handful of kinds
def _cell_names(kind: type[Table]) -> tuple[str, ...]:
    return tuple(name for name in kind.model_fields if name != "ids")


def diff_tables(old: AnyTable, new: AnyTable) -> TableDelta:
    """Return the delta from `old` to `new` (two tables of the same kind)."""
    moved = old.ids != new.ids
    before, after = (old.index(), new.index()) if moved else ({}, {})
    added = tuple(row_id for row_id in new.ids if row_id not in before) if moved else ()
    removed = tuple(row_id for row_id in old.ids if row_id not in after) if moved else ()
    pairs = [(number, before.get(row_id)) for number, row_id in enumerate(new.ids)] if moved else []
    cells: dict[str, CellChanges] = {}
    for name in type(new).model_fields:
        if name == "ids":
            continue
        column, previous = getattr(new, name), getattr(old, name)
        if not moved and _surely_same(previous, column):
            continue
        rows = (
            tuple(
                [
                    number
                    for number, earlier in pairs
                    if earlier is None
                    or (
                        column[number] is not previous[earlier]
                        and not _same_value(column[number], previous[earlier])
                    )
                ]
            )
            if moved
            else _changed_rows(previous, column)
        )
        if rows:
            cells[name] = CellChanges(rows=rows, values=tuple(column[number] for number in rows))
    return TableDelta(removed=removed, added=added, cells=cells)


def apply_delta(old: AnyTable, delta: TableDelta) -> AnyTable:
    """Return the table after `delta`.

    Raises:
        ValueError: the delta does not fit the table.
    """
    return type(old).model_validate(columns_after(old, delta))


def columns_after(old: Table, delta: TableDelta) -> dict[str, Any]:
    """Return the columns after `delta`, not validated: for those who prove the result by its hash.

    Columns that nothing changes are the old ones themselves.

    Raises:
        ValueError: the delta does not fit the table.
    """
    moved = bool(delta.removed or delta.added)
    ids, sources = _moved_rows(old, delta) if moved else (old.ids, ())
    columns: dict[str, Any] = {"ids": ids}
    for name in type(old).model_fields:
        if name == "ids":
            continue
        previous = getattr(old, name)
        changes = delta.cells.get(name)
        if changes is None and not moved:
            columns[name] = previous
            continue
        column = (
            [None if source is None else previous[source] for source in sources]
            if moved
            else [*previous]
        )
        if changes is not None:
            for row, value in zip(changes.rows, changes.values, strict=True):
                if not 0 <= row < len(column):
                    raise ValueError(f"column {name!r} has no row {row}")
                column[row] = value
        columns[name] = tuple(column)
    return columns


def check_cells(kind: type[Table], delta: TableDelta, columns: Mapping[str, Any]) -> None:
    """Refuse a delta whose result is no table of that kind, although its hash may be right.

    Only what changed is looked at; the rest was checked when it came.

    Raises:
        ValueError: an id twice, or a cell of another type than its column's.
    """
    for name, changes in delta.cells.items():
        if not set(map(type, changes.values)) <= cell_types(kind, name):
            raise ValueError(f"column {name!r} gets a cell of another type")
    if not delta.added:
        return
    if len(set(columns["ids"])) < len(columns["ids"]):
        raise ValueError("ids must be unique")
    for name, column in columns.items():
        if None in column and type(None) not in cell_types(kind, name):
            raise ValueError(f"column {name!r} lacks a cell of an added row")


@lru_cache(maxsize=256)  # a handful of columns of a handful of tables
def cell_types(kind: type[Table], name: str) -> frozenset[type]:
    """Return the Python types that a column's cells have in a delta; none for an unknown column."""
    field = kind.model_fields.get(name)
    types: set[type] = set()
    waiting: list[Any] = [] if field is None else [get_args(field.annotation)[0]]
    while waiting:
        branch = waiting.pop()
        if get_origin(branch) is Literal:
            types.update(map(type, get_args(branch)))
        elif get_args(branch):
            inner = get_args(branch)
            waiting += inner[:1] if hasattr(branch, "__metadata__") else inner
        elif branch in (bool, int, float, type(None)):
            types.add(branch)
        else:
            types.add(str)  # texts, and enumerations of texts
    return frozenset(types)


def _moved_rows(old: Table, delta: TableDelta) -> tuple[tuple[str, ...], Sequence[int | None]]:
    """Return the ids after rows came and went, and where each row was before."""
    removed = frozenset(delta.removed)
    ids = tuple(sorted([*(row_id for row_id in old.ids if row_id not in removed), *delta.added]))
    before = old.index()
    return ids, [before.get(row_id) for row_id in ids]


def _surely_same(old: Sequence[Scalar], new: Sequence[Scalar]) -> bool:
    """Say whether two columns are the same cell by cell; without a look at each in Python."""
    return all(map(operator.is_, old, new)) or (
        old == new and [*map(type, old)] == [*map(type, new)]
    )


def _changed_rows(old: Sequence[Scalar], new: Sequence[Scalar]) -> tuple[int, ...]:
    """Return the numbers of the cells that differ in two columns of the same rows."""
    return tuple(
        [
            number
            for number, (left, right) in enumerate(zip(old, new, strict=True))
            if left is not right and not _same_value(left, right)
        ]
    )


def _same_value(left: object, right: object) -> bool:
    return left == right and type(left) is type(right)


def state_hash(tables: Mapping[str, Table]) -> str:
    """Return the SHA-256 of the canonical JSON of full tables by name; two equal states have equal
    hashes.
    """
    texts = [f"{_json_text(name)}:{_table_text(tables[name])}" for name in sorted(tables)]
    return hashlib.sha256(f"{{{','.join(texts)}}}".encode()).hexdigest()


def _table_text(table: Table) -> str:
    kind = type(table)
    columns = [
        f"{_json_text(name)}:{_column_text(kind, name, getattr(table, name))}"
        for name in sorted(kind.model_fields)
    ]
    return f"{{{','.join(columns)}}}"


MOST_KNOWN_TEXTS = 4
"""Of one column: what a writer and its readers hold, for two worlds in turn."""
_known_texts: dict[tuple[type[Table], str], tuple[tuple[Sequence[Scalar], str], ...]] = {}
"""Newest first; replaced whole, since threads read events at the same time."""


def _column_text(kind: type[Table], name: str, column: Sequence[Scalar]) -> str:
    """Return a column's JSON: a cache of pure results, since most columns are as they were a cycle ago.

    Only the very same cells count as the same: 1, 1.0 and True are equal and are written differently.
    """
    known = _known_texts.get((kind, name), ())
    for cells, text in known:
        if cells is column or (len(cells) == len(column) and all(map(operator.is_, cells, column))):
            return text
    text = _json_text(column)
    _known_texts[kind, name] = ((column, text), *known[: MOST_KNOWN_TEXTS - 1])
    return text


def _json_text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class Frame(DataModel):
    """How full state travels: now and then a keyframe, in between deltas, each with the hash of the
    full state.
    """

    frame: Literal["keyframe", "delta"]
    keyframe_cycle: Cycle
    """The cycle of the keyframe that this delta chain starts from (its own cycle for a keyframe).
    """
    previous_cycle: Cycle | None = None
    """The cycle that a delta builds on; None for a keyframe."""
    state_hash: str
    """SHA-256 of the full state after this frame."""
    deltas: dict[str, TableDelta] | None = None
    """By table name; None in a keyframe."""
