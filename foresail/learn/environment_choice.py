"""Which environment an action plays, and with what it is made."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bus.errors import InputError
from foresail.workspace import workspace

DEFAULT_ENVIRONMENT = "Foresail/KueueAdmission-v1"
FOLDER = "learned"
"""Inside the workspace."""


def add_environment(parser: argparse.ArgumentParser) -> None:
    """Add the environment and its settings."""
    parser.add_argument("--env", default=DEFAULT_ENVIRONMENT, metavar="ID",
                        help="Gymnasium's id of the environment (default: %(default)s)")  # fmt: skip
    parser.add_argument("--env-argument", action="append", default=[], metavar="NAME=VALUE",
                        help="what it is made with, such as variant=score; repeatable")  # fmt: skip


def pairs(flag: str, words: Sequence[str]) -> dict[str, Any]:
    """Return NAME=VALUE words as a mapping; a value is JSON where it can be read so, else a word.

    Raises:
        InputError: a word is no pair.
    """
    values: dict[str, Any] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name.isidentifier():
            raise InputError(flag, word, "write it as NAME=VALUE")
        try:
            values[name] = json.loads(text)
        except json.JSONDecodeError:
            values[name] = text
    return values


def run_folder(name: str) -> Path:
    """Return where the runs of a name lie: a path as it is, a plain name in the workspace."""
    return Path(name) if "/" in name else workspace().root / FOLDER / name
