"""`foresail pause`: start no new executions; see `foresail.control`."""

from __future__ import annotations

from foresail.control import add_arguments, run
from foresail.verbs import Verb

__all__ = ["VERB", "add_arguments", "run"]

VERB = Verb(100, "start no new execution, until `foresail resume`")
EXAMPLES = (
    ("pause --reason 'maintenance until 18:00'", "what has begun is finished, nothing new starts"),
)
