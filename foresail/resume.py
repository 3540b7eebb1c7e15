"""`foresail resume`: lift a kill or a pause; see `foresail.control`."""

from __future__ import annotations

from foresail.control import add_arguments, run
from foresail.verbs import Verb

__all__ = ["VERB", "add_arguments", "run"]

VERB = Verb(110, "lift a kill or a pause")
EXAMPLES = (("resume", "act again"),)
