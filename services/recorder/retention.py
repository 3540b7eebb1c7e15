"""Which recordings a folder keeps. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class KeptFile(NamedTuple):
    """A sealed recording in the folder."""

    name: str
    begin_seconds: float
    end_seconds: float
    """When it was sealed, in seconds since the Unix epoch."""
    bytes: int
    safe: bool
    """It may go without a loss: no bucket is wanted, or it is in the bucket."""


class Removal(NamedTuple):
    """A recording that goes, and why."""

    file: KeptFile
    reason: str


def to_remove(
    files: Sequence[KeptFile], *, now_seconds: float, max_age_seconds: float, max_bytes: int
) -> list[Removal]:
    """Return what goes, the oldest first.

    By age goes only what is safe; by size whatever is oldest, since a full disk would lose what comes.
    """
    removals: list[Removal] = []
    kept: list[KeptFile] = []
    for file in sorted(files, key=lambda one: (one.begin_seconds, one.name)):
        if file.safe and now_seconds - file.end_seconds > max_age_seconds:
            removals.append(Removal(file, "age"))
        else:
            kept.append(file)
    beyond, newer_bytes = [], 0
    for file in reversed(kept):
        newer_bytes += file.bytes
        if newer_bytes > max_bytes:
            beyond.append(Removal(file, "size"))
    return removals + beyond[::-1]
