"""Errors that Foresail and the twin share: the root, and wrong input, which is one line for people and exit code 2."""

from __future__ import annotations

LONGEST_LINE = 1_000
"""Characters of the one line that names a wrong input."""


class ForesailError(Exception):
    """The root of every error that is raised on purpose."""


class InputError(ForesailError):
    """Something given to us is wrong; the text is the one line that people read."""

    def __init__(self, field: str, value: object, remedy: str) -> None:
        """Name the field, the value and the remedy."""
        super().__init__(_on_one_line(f"{field} = {value}: {remedy}"))
        self.field = field
        self.value = value
        self.remedy = remedy


def _on_one_line(text: str) -> str:
    """Write what cannot be printed, line ends among them, as escapes; shorten what is endless."""
    if len(text) > LONGEST_LINE:
        text = f"{text[: LONGEST_LINE // 2]} ... {text[-LONGEST_LINE // 2 :]}"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


class ConfigError(InputError):
    """A setting is wrong."""
