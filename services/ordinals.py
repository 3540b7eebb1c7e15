"""Pods of StatefulSets have an ordinal: the number behind the last dash of their names."""

from __future__ import annotations


def ordinal_of(name: str) -> int:
    """Return the ordinal of a pod, by its name with or without a namespace; -1 where it has none."""
    _, _, tail = name.rpartition("-")
    return int(tail) if tail.isdecimal() and tail.isascii() else -1
