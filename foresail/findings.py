"""Result of a check of `foresail doctor`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Result of one check."""

    check: str
    ok: bool
    found: str
    remedy: str = ""
    made: bool = True
    """False: the check itself could not be made, so nothing is known."""
