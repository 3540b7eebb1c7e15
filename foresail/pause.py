"""`foresail pause`: start no new executions; see `foresail.control`."""

from __future__ import annotations

import argparse

from foresail import control
from foresail.control import run
from foresail.verbs import Verb

__all__ = ["VERB", "add_arguments", "run"]

VERB = Verb(100, "start no new execution, until `foresail resume`")
EXAMPLES = (
    ("pause --reason 'maintenance until 18:00'", "what has begun is finished, nothing new starts"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    control.add_arguments(parser)
    control.add_all_clusters(parser, "pause every cluster")
