"""Where a row of a file stands, for messages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inputs.errors import InputError

LONGEST_SHOWN = 80  # of a bad value; a message stays one readable line


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Where a row stands, for messages."""

    file: str
    line: int
    unit: str = "line"  # a parquet file has rows
    folder: Path | None = None
    """Where the file is, for files that a row names."""

    def error(self, field: str, value: object, remedy: str) -> InputError:
        """The error for one bad field of this row."""
        where = f"{self.file} {self.unit} {self.line}: {field}"
        shown = str(value).encode("unicode_escape").decode("ascii")[:LONGEST_SHOWN]
        return InputError(field=where, value=shown, remedy=remedy)
