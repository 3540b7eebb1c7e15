"""Reading the predecessor's files: which of them it is, and what is wrong with it in one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bus.errors import InputError
from inputs.limited_files import BadFile, read_text_limited
from inputs.limited_json import BadJson, load_json
from lab.recordings.predecessors.forms import Form

MOST_BYTES = 256 * 1024**2
LONGEST_VALUE = 80
FORMS = (
    "give a trace (rows with timestamp, nodes and tasks), an event file (lines with time and kind) "
    "or state.json"
)

M = TypeVar("M", bound=BaseModel)
Rows = list[tuple[int, dict[str, Any]]]
"""Objects with the number of their row, or line, from 1."""


def read_rows(path: Path) -> tuple[Form, Rows]:
    """Return which file it is, and its rows.

    Raises:
        InputError: it cannot be read, is no JSON, or neither of the two.
    """
    try:
        text = read_text_limited(path, MOST_BYTES)
    except OSError as error:
        raise InputError(
            "FILE", path, f"give a file that can be read ({error.strerror})"
        ) from error
    except BadFile as error:
        raise InputError("FILE", path, f"{error}; {FORMS}") from error
    if (state := _state(text)) is not None:
        return "state", [(1, state)]
    rows = list(_array(path, text) if text.lstrip().startswith("[") else _lines(path, text))
    if not rows:
        raise InputError("FILE", path, f"it has no row; {FORMS}")
    first = rows[0][1]
    if "timestamp" in first:
        return "trace", rows
    if {"time", "kind"} <= first.keys():
        return "events", rows
    raise InputError(
        "FILE", path, f"its first row has neither timestamp nor time and kind; {FORMS}"
    )


def _state(text: str) -> dict[str, Any] | None:
    """Return a state file's object, which stands on many lines; None where it is another file."""
    if not text.lstrip().startswith("{") or '"stages"' not in text:
        return None
    try:
        read = load_json(text, most_bytes=MOST_BYTES)
    except BadJson:
        return None
    return read if isinstance(read, dict) and {"stages", "rewards"} <= read.keys() else None


def _array(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, row in enumerate(_parse(path, text, "the file"), start=1):
        yield number, _object(path, number, row)


def _lines(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, _object(path, number, _parse(path, line, f"row {number}"))


def _parse(path: Path, text: str, where: str) -> Any:
    try:
        return load_json(text, most_bytes=MOST_BYTES)
    except BadJson as error:
        shown = _shown(text.strip())
        raise InputError(
            f"{path.name}: {where}", shown, f"it is no JSON: {error}; mend or remove it"
        ) from error


def _object(path: Path, number: int, row: object) -> dict[str, Any]:
    if isinstance(row, dict):
        return row
    raise InputError(f"{path.name}: row {number}", _shown(row), "each row has to be a JSON object")


def fit(kind: type[M], path: Path, number: int, row: dict[str, Any]) -> M:
    """Return a row as its form has it.

    Raises:
        InputError: a field is missing or does not fit; the first one is named.
    """
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
    place = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in first["loc"])
    value = "(missing)" if first["type"] == "missing" else _shown(first["input"])
    message = str(first["msg"]).removeprefix("Value error, ")
    remedy = f"{message[:1].lower()}{message[1:]}; mend the row or remove it"
    if not place:
        place, value = ".", f"{len(row)} fields"
    raise InputError(
        f"{path.name}: row {number}: {place.removeprefix('.') or 'the row'}", value, remedy
    )


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."
