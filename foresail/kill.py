"""`foresail kill`: stop acting at once; see `foresail.control`.

Where a stack serves several clusters, kill without a name stops all of them: who is in a hurry must not be asked
back, and what was stopped needlessly is resumed.
"""

from __future__ import annotations

import argparse

from foresail import control
from foresail.control import run
from foresail.verbs import Verb

__all__ = ["ALL_CLUSTERS", "VERB", "add_arguments", "run"]

VERB = Verb(90, "stop writing to the cluster at once, until `foresail resume`")
EXAMPLES = (
    ("kill --reason 'wrong evictions'", "nothing more is written to the cluster, nor to any other"),
    ("kill --cluster shop", "of several clusters only this one"),
)
ALL_CLUSTERS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    control.add_arguments(parser)
    control.add_all_clusters(parser, "stop every cluster, which is what leaving out --cluster does")
