"""A part of the screen."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text

from projections import figures


@dataclass(frozen=True, slots=True)
class Section:
    """A label and the lines beside it; without lines it is not shown."""

    label: str
    lines: list[Text]
    style: str = ""


def number(value: float | None) -> str:
    """Write a number shortly; a missing one as `missing`."""
    return "missing" if value is None else figures.number(value)


def seconds(value: float | None) -> str:
    """Write an age or a limit; a missing one as `unknown`."""
    return "unknown" if value is None else figures.duration(value)
