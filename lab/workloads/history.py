"""Tables of history in parquet, written as the CSV that the collector reads."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bus.errors import ConfigError

FIELD = "collector.history_files"
COLUMNS = ("series", "t_s", "value")


def write_history_csv(path: Path, out: Path) -> None:
    """Write a table of `series`, `t_s` (s) and `value` as CSV; rows without a value are left out.

    Raises:
        ConfigError: the file cannot be read, is no parquet, or has other columns.
    """
    try:
        table = pl.read_parquet(path)
    except OSError as error:
        why = error.strerror or "it cannot be read"
        raise ConfigError(FIELD, path, f"give a readable file ({why})") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ConfigError(FIELD, path, "give a table in parquet; this is none") from error
    if sorted(table.columns) != sorted(COLUMNS):
        shown = ", ".join(table.columns)
        raise ConfigError(f"{FIELD}: {path.name} columns", shown, f"give {', '.join(COLUMNS)}")
    table.select(COLUMNS).drop_nulls().write_csv(out)
