"""What a check of `foresail doctor` found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    check: str
    ok: bool
    found: str
    remedy: str = ""
    made: bool = True
    """False: the check itself could not be made, so nothing is known."""
