"""Files from others, read up to a size; also what is no regular file and has no end."""

from __future__ import annotations

import gzip
import tomllib
import zlib
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Final

PIECE_BYTES: Final = 1024**2
"""Bytes read at a time."""
TOML_BYTES: Final = 256 * 1024
"""Bytes of a settings file."""
TOML_LINE: Final = 4_000
"""Characters of a line: a key of n dotted parts takes the reader the square of n."""
TOML_DEPTH: Final = 16
"""Tables and arrays inside one another; settings have two."""


class BadFile(ValueError):
    """A file is too large, or does not hold what it should; one sentence."""


def read_limited(path: Path, most_bytes: int) -> bytes:
    """Return a file's bytes.

    Raises:
        BadFile: it has more than `most_bytes`; no more than that are read.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return _in_pieces(file, most_bytes)


def read_unpacked(path: Path, most_bytes: int) -> bytes:
    """Return the bytes that gzip packed into a file.

    Raises:
        BadFile: they are more than `most_bytes` (no more than that are unpacked), or gzip did not write the whole file.
        OSError: it cannot be read.
    """
    try:
        with gzip.open(path) as file:
            return _in_pieces(file, most_bytes)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadFile("it is not packed by gzip, or is cut short") from error


def _in_pieces(file: BufferedIOBase, most_bytes: int) -> bytes:
    pieces, left = [], most_bytes + 1
    # Asked for all at once, it would take the memory of the limit for a file of a few bytes.
    while left and (piece := file.read(min(left, PIECE_BYTES))):
        pieces.append(piece)
        left -= len(piece)
    if not left:
        raise BadFile(f"it has more than {most_bytes} bytes")
    return b"".join(pieces)


def read_text_limited(
    path: Path, most_bytes: int, encoding: str = "utf-8", *, packed: bool = False
) -> str:
    """Return a file's text, that which gzip packed where it is `packed`; see `read_limited`.

    Raises:
        BadFile: it has more than `most_bytes`, or another encoding, or is not packed.
        OSError: it cannot be read.
    """
    read = read_unpacked if packed else read_limited
    try:
        return read(path, most_bytes).decode(encoding)
    except UnicodeDecodeError as error:
        raise BadFile(f"it is not UTF-8 (byte {error.start})") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises:
        BadFile: it is too large, too deep, or no TOML.
        OSError: it cannot be read.
    """
    text = read_text_limited(path, TOML_BYTES)
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > TOML_LINE:
            raise BadFile(f"line {number} has more than {TOML_LINE} characters")
    try:
        content = tomllib.loads(text)
    except RecursionError as error:
        raise BadFile(f"it is nested deeper than {TOML_DEPTH}") from error
    except ValueError as error:
        raise BadFile(" ".join(str(error).split())[:200]) from error
    if _is_deeper_than(content, TOML_DEPTH):
        raise BadFile(f"it is nested deeper than {TOML_DEPTH}")
    return content


def _is_deeper_than(value: Any, levels: int) -> bool:
    """Say whether a value has more levels than that, without recursion."""
    level: list[Any] = [value]
    for _ in range(levels + 1):
        level = [
            inner
            for container in level
            if isinstance(container, dict | list)
            for inner in (container.values() if isinstance(container, dict) else container)
        ]
    return bool(level)
