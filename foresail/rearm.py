"""`foresail rearm`: close a breaker that has tripped; see `foresail.control` and docs/breakers.md."""

from __future__ import annotations

import argparse

from foresail import control
from foresail.control import run
from foresail.verbs import Verb
from schemas.actions import ActionKind
from schemas.breaker import WHOLE

__all__ = ["VERB", "add_arguments", "run"]

VERB = Verb(115, "let tripped breakers act again")
EXAMPLES = (
    ("rearm --reason 'the load test is over'", "everything acts again from the next cycle on"),
    ("rearm replicate", "only that kind of action; other breakers stay as they are"),
)
UNITS = (WHOLE, *(str(kind) for kind in ActionKind if kind is not ActionKind.NOOP))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "unit",
        nargs="?",
        default="",
        choices=("", *UNITS),
        metavar="UNIT",
        help=f"which breaker: {', '.join(UNITS)} (default: each one that has tripped)",
    )
    control.add_arguments(parser)
