"""Texts that join rows (users, logical names, ids of other platforms) as whole numbers.

Guarantee: a text's code is the order of its first appearance, so a build repeats, and a longer
trace gives the texts of a shorter one the same codes. -1 stands for no text.
"""

from __future__ import annotations

import polars as pl

UNKNOWN = -1
CODES_FILE = "codes.parquet"


class Codes:
    """The dictionary of each key, filled as texts come."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, int]] = {}

    @classmethod
    def of(cls, table: pl.DataFrame) -> Codes:
        """Return the dictionaries that `table` described."""
        codes = cls()
        for key, code, text in table.iter_rows():
            codes._known.setdefault(key, {})[text] = code
        return codes

    def with_codes(self, frame: pl.DataFrame, column: str, key: str) -> pl.DataFrame:
        """Return the frame with a text column replaced by codes of dictionary `key`."""
        if frame.schema[column] != pl.String:
            return frame.with_columns(pl.col(column).cast(pl.Int64).fill_null(UNKNOWN))
        known = self._known.setdefault(key, {})
        texts = frame[column].drop_nulls().unique(maintain_order=True).to_list()
        codes = [known.setdefault(text, len(known)) for text in texts]
        table = pl.DataFrame(
            {column: texts, "_code": codes}, schema={column: pl.String, "_code": pl.Int64}
        )
        joined = frame.join(table, on=column, how="left", maintain_order="left")
        return joined.with_columns(pl.col("_code").fill_null(UNKNOWN).alias(column)).drop("_code")

    def table(self) -> pl.DataFrame:
        """Return every dictionary as rows (key, code, text)."""
        rows = [
            (key, code, text) for key, known in self._known.items() for text, code in known.items()
        ]
        return pl.DataFrame(
            rows, schema={"key": pl.String, "code": pl.Int64, "text": pl.String}, orient="row"
        )
