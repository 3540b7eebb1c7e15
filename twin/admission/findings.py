"""What validation found wrong: collected, so that one answer names every bad field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from inputs.quantities import parse_quantity
from twin.errors import invalid
from twin.kinds import Kind


class Findings:
    """(field path, sentence) pairs in the order they were found."""

    def __init__(self) -> None:
        self.causes: list[tuple[str, str]] = []
        self.again: dict[int, int] = {}
        """How many times more a cause is named, by its place: a real server checks metadata of an update
        several times over, and says so.
        """

    def add(self, path: str, sentence: str) -> None:
        """Note one bad field."""
        self.causes.append((path, sentence))

    def bad(self, path: str, value: object, why: str) -> None:
        """Note an invalid value in the API server's words."""
        self.add(path, f"Invalid value: {shown(value)}: {why}")

    def unsupported(self, path: str, value: object, words: Iterable[str]) -> None:
        """Note a value that is none of the words that there are."""
        listed = ", ".join(f'"{word}"' for word in sorted(words))
        self.add(path, f"Unsupported value: {shown(value)}: supported values: {listed}")

    def duplicate(self, path: str, value: object) -> None:
        """Note a value that is there already."""
        self.add(path, f"Duplicate value: {shown(value)}")

    def forbid(self, path: str, why: str) -> None:
        """Note a field that may not be there, or may not change."""
        self.add(path, f"Forbidden: {why}")

    def require(self, path: str, why: str = "") -> None:
        """Note an absent field."""
        self.add(path, f"Required value: {why}" if why else "Required value")

    def raise_if_any(self, kind: Kind, name: str) -> None:
        """Raise ApiError 422 when something was found."""
        if self.causes:
            error = invalid(kind.kind, kind.group, name, self.causes)
            told = error.details["causes"]
            told[:0] = [
                cause for at, cause in enumerate(told) for _ in range(self.again.get(at, 0))
            ]
            raise error

    def quantities(self, path: str, amounts: Mapping[str, Any]) -> None:
        """Check that every amount is a quantity and not below zero."""
        for name, amount in amounts.items():
            try:
                negative = parse_quantity(amount) < 0
            except ValueError:
                self.bad(f"{path}[{name}]", amount, "must be a quantity such as 500m or 2Gi")
                continue
            if negative:
                self.bad(f"{path}[{name}]", amount, "must be greater than or equal to 0")

    def repeat(self, times: int) -> None:
        """Name what was found since the last call so many times."""
        for at in range(len(self.again), len(self.causes)):
            self.again[at] = times - 1

    def count(self, path: str, value: object, least: int = 0) -> None:
        """Check a whole number of at least `least`."""
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self.bad(path, value, f"must be greater than or equal to {least}")


def shown(value: object) -> str:
    """Return a value as sentences show it: as JSON."""
    return orjson.dumps(value, default=str).decode()
