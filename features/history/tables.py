"""Equal-length numpy columns as frozen dataclasses: the form in which history travels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

I8 = NDArray[np.int8]
I16 = NDArray[np.int16]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Flags = NDArray[np.bool_]
Selection = I64 | Flags | slice


def column_type(dtype: type[np.generic], default: float | None = None) -> Mapping[str, Any]:
    """Declare one column; `default` fills it where a table is made without naming it."""
    return {"dtype": dtype, "default": default}


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of one length and of the declared types.

    Raises:
        ValueError: a column has another length than the first one.
    """

    def __post_init__(self) -> None:
        length: int | None = None
        for item in fields(self):
            values = np.ascontiguousarray(getattr(self, item.name), dtype=item.metadata["dtype"])
            object.__setattr__(self, item.name, values)
            length = len(values) if length is None else length
            if len(values) != length:
                raise ValueError(
                    f"{type(self).__name__}.{item.name} has {len(values)} rows, not {length}: "
                    "give every column the same length"
                )

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    @classmethod
    def of(cls, **columns: Any) -> Self:
        """Make a table from named columns; a column left out takes its default in every row.

        Raises:
            ValueError: a column without default is missing, or one is not in this table.
        """
        declared = {item.name: item.metadata for item in fields(cls)}
        unknown = sorted(set(columns) - set(declared))
        if unknown:
            raise ValueError(f"{cls.__name__} has no column {unknown[0]}")
        length = len(next(iter(columns.values()), ()))
        whole = dict(columns)
        for name, metadata in declared.items():
            if name not in whole:
                if metadata["default"] is None:
                    raise ValueError(f"{cls.__name__} needs the column {name}")
                whole[name] = np.full(length, metadata["default"], dtype=metadata["dtype"])
        return cls(**whole)

    @classmethod
    def empty(cls) -> Self:
        """Return the table without rows."""
        return cls(**{item.name: np.empty(0, item.metadata["dtype"]) for item in fields(cls)})

    def rows(self, selection: Selection) -> Self:
        """Return the chosen rows, in the chosen order."""
        return type(self)(**{i.name: getattr(self, i.name)[selection] for i in fields(self)})

    def concat(self, other: Self) -> Self:
        """Return this table's rows and then the other's."""
        return type(self)(
            **{
                i.name: np.concatenate([getattr(self, i.name), getattr(other, i.name)])
                for i in fields(self)
            }
        )


def gather_rows(matrix: NDArray[Any], index: I64, missing: int) -> NDArray[Any]:
    """Return the rows `index` of `matrix`; -1 gives a row full of `missing`."""
    if not len(matrix):
        return np.full((len(index), *matrix.shape[1:]), missing, dtype=matrix.dtype)
    gathered = matrix[np.maximum(index, 0)]
    gathered[index < 0] = missing
    return gathered


def quotient(part: I64 | F64, whole: I64 | F64, where: Flags) -> F64:
    """Return part / whole, NaN where not `where`."""
    out: F64 = np.full(len(part), np.nan)
    np.divide(part, whole, out=out, where=where)
    return out
