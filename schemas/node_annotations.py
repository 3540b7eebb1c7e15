"""Names of the annotations by which a node is limited or put to sleep: once, for all who write or read them.

Nothing but names, so that the simulated cluster can share them. What a limit says is in `schemas.node_limits`.
"""

from __future__ import annotations

from enum import StrEnum

POWER_STATE = "foresail.dev/power-state"
"""`sleep`, `off` or `on`."""


class NodeLimit(StrEnum):
    """What can be limited; the word is the annotation that holds the value, a ratio from 0 to 1."""

    CLOCK_SCALE = "foresail.dev/clock-scale"
    """The highest clock, of the highest that the hardware has."""
    CPU_CAP = "foresail.dev/cpu-cap"
    """CPU time of all pods together, of what the node offers them (allocatable)."""
    MEMORY_SCALE = "foresail.dev/memory-scale"
    """Memory that pods may count on, of what the node offers them; no agent of ours does it."""
    MEMORY_CAP = "foresail.dev/memory-cap"
    """Memory of all pods together, of what the node offers them; no agent of ours does it."""

    @property
    def word(self) -> str:
        """The name without its domain, such as `clock-scale`."""
        return self.value.partition("/")[2]

    @property
    def decision_key(self) -> str:
        """The annotation that names whose limit it is."""
        return f"{self.value}-decision"

    @property
    def expires_key(self) -> str:
        """The annotation that says when it ends, RFC 3339."""
        return f"{self.value}-expires"
