"""The heavy libraries behind learning, imported when they are used."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from bus.errors import InputError

INSTALL = "install it: pip install 'foresail[learn]'"
NEEDED = ("gymnasium", "sb3_contrib", "stable_baselines3", "tensorboard", "torch")


def check_installed() -> None:
    """Refuse to go on where a part of the extra is missing, without loading any; raises InputError."""
    missing = next((name for name in NEEDED if find_spec(name) is None), None)
    if missing is not None:
        raise InputError("package", missing, INSTALL)


def library(name: str) -> Any:
    """Return a module of the extra.

    Raises:
        InputError: it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError("package", name.partition(".")[0], INSTALL) from error
