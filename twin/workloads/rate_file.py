"""A recorded rate of requests in a file of a user's own: time_seconds,requests_per_second.

CSV with that header; lines that begin with `#` are comments. Each rate holds until the next. Guarantee: each bad
line is an error that names file, line, field, value and remedy, and no line is skipped in silence.
"""

from __future__ import annotations

from math import isfinite, nan
from pathlib import Path

from inputs.errors import InputError
from inputs.limited_files import BadFile, read_text_limited
from inputs.plain_numbers import parse_number
from twin.traffic import MOST_POINTS, MOST_REQUESTS_PER_SECOND, Recorded, recorded
from twin.workloads.row_place import RowPlace

COLUMNS = ("time_seconds", "requests_per_second")
_MOST_BYTES = 4 << 20
_LONGEST_NAME = 200
_LATEST_SECONDS = 1e10


def is_rate_file(path: Path) -> bool:
    """Say whether a file's header is that of a rate file; one that cannot be read is none."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for _ in range(1_000):
                line = file.readline(1_000)
                if line.strip() and not line.startswith("#"):
                    return tuple(cell.strip() for cell in line.split(",")) == COLUMNS
    except (OSError, UnicodeDecodeError):
        pass
    return False


def named_file(text: str, folder: Path) -> Path | None:
    """Return the file in a folder that a text names; None for what is no plain name of a file."""
    name = text.strip()
    plain = name.isprintable() and 0 < len(name) <= _LONGEST_NAME and Path(name).name == name
    return folder / name if plain else None


def read_rate_file(path: Path) -> Recorded:
    """Return the rates; raises InputError for the first that is wrong."""
    rates, errors = check_rate_file(path)
    if errors:
        raise errors[0]
    assert rates is not None
    return rates


def check_rate_file(path: Path) -> tuple[Recorded | None, list[InputError]]:
    """Return the rates, or all that is wrong with them."""
    try:
        text = read_text_limited(path, _MOST_BYTES, "utf-8-sig")
    except (OSError, BadFile) as error:
        remedy = f"give a readable UTF-8 file ({getattr(error, 'strerror', None) or error})"
        return None, [InputError(field="rate file", value=path.name, remedy=remedy)]
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    header = ",".join(COLUMNS)
    if not lines or not is_rate_file(path):
        place = RowPlace(path.name, lines[0][0] if lines else 1)
        shown = lines[0][1] if lines else "(empty)"
        return None, [place.error("header", shown, f"begin with the line {header}")]
    if len(lines) - 1 > MOST_POINTS:
        remedy = f"give at most {MOST_POINTS}, such as one a minute"
        return None, [RowPlace(path.name, lines[0][0]).error("rows", len(lines) - 1, remedy)]
    errors: list[InputError] = []
    points = _points(path.name, lines[1:], errors)
    if not points and not errors:
        errors.append(RowPlace(path.name, lines[0][0]).error("rows", "none", "give a line 0,RATE"))
    return (None if errors else recorded(points)), errors


def _points(
    file: str, lines: list[tuple[int, str]], errors: list[InputError]
) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    for number, line in lines:
        place, cells = RowPlace(file, number), line.split(",")
        if len(cells) != len(COLUMNS):
            errors.append(place.error("row", f"{len(cells)} cells", f"give {len(COLUMNS)} cells"))
            continue
        values = []
        for column, cell, most in zip(
            COLUMNS, cells, (_LATEST_SECONDS, MOST_REQUESTS_PER_SECOND), strict=True
        ):
            value = _number(cell)
            if not isfinite(value) or not 0.0 <= value <= most:
                errors.append(place.error(column, cell, f"give a number from 0 to {most:g}"))
            values.append(value)
        after = points[-1][0] if points else None
        if after is None and values[0] > 0.0:
            errors.append(place.error(COLUMNS[0], cells[0], "begin with time 0"))
        elif after is not None and values[0] <= after:
            errors.append(place.error(COLUMNS[0], cells[0], f"give a time after {after:g}"))
        points.append((values[0], values[1]))
    return points


def _number(cell: str) -> float:
    try:
        return parse_number(cell.strip(" "))
    except ValueError:
        return nan
