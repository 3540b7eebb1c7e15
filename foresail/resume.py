"""`foresail resume`: lift a kill or a pause; see `foresail.control`."""

from __future__ import annotations

import argparse

from foresail import control
from foresail.control import run
from foresail.verbs import Verb

__all__ = ["VERB", "add_arguments", "run"]

VERB = Verb(110, "lift a kill or a pause")
EXAMPLES = (
    ("resume", "act again"),
    ("resume --all-clusters", "act again on every cluster"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    control.add_arguments(parser)
    control.add_all_clusters(parser, "resume every cluster")
