"""What validation found wrong: collected, so that one answer names every bad field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twin.errors import invalid
from twin.kinds import Kind
from twin.quantity import parse_quantity


class Findings:
    """(field path, sentence) pairs in the order they were found."""

    def __init__(self) -> None:
        self.causes: list[tuple[str, str]] = []

    def add(self, path: str, sentence: str) -> None:
        """Note one bad field."""
        self.causes.append((path, sentence))

    def bad(self, path: str, value: object, why: str) -> None:
        """Note an invalid value in the API server's words."""
        text = f'"{value}"' if isinstance(value, str) else str(value)
        self.add(path, f"Invalid value: {text}: {why}")

    def require(self, path: str) -> None:
        """Note an absent field."""
        self.add(path, "Required value")

    def raise_if_any(self, kind: Kind, name: str) -> None:
        """Raise ApiError 422 when something was found."""
        if self.causes:
            raise invalid(kind.kind, kind.group, name, self.causes)

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

    def count(self, path: str, value: object, least: int = 0) -> None:
        """Check a whole number of at least `least`."""
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self.bad(path, value, f"must be an integer greater than or equal to {least}")
