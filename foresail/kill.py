"""`foresail kill`: stop acting at once; see `foresail.control`."""

from __future__ import annotations

from foresail.control import add_arguments, run
from foresail.verbs import Verb

__all__ = ["VERB", "add_arguments", "run"]

VERB = Verb(90, "stop writing to the cluster at once, until `foresail resume`")
EXAMPLES = (("kill --reason 'wrong evictions'", "nothing more is written to the cluster"),)
