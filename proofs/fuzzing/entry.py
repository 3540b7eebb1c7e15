"""One entry of the fuzzers: a reader of bytes from outside, and what it may answer with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A function that takes any bytes. It returns, or it has found a defect and raises."""

    name: str
    """Unique, lower case with hyphens: `twin-yaml`."""
    run: Callable[[bytes], None]
    """Reads the bytes; handles the errors that the reader documents and lets all others through."""
    seeds: tuple[bytes, ...]
    """Valid and nearly valid inputs; at least one. Findings go to `corpus/NAME/` as files."""
    most_bytes: int = 4096
    """Longest input that a fuzzer makes up."""
    seconds: float = 5.0
    """An input that takes longer is a finding too; generous, for machines that are busy."""
