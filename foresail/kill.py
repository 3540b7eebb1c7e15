"""`foresail kill`: stop acting at once; see `foresail.control`."""

from __future__ import annotations

from foresail.control import add_arguments, run
from foresail.verbs import Verb

__all__ = ["VERB", "add_arguments", "run"]

VERB = Verb(90, "stop acting at once, until resume")
