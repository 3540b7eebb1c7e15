"""A switchback's blocks and its estimate, as lines for people."""

from __future__ import annotations

from collections.abc import Sequence

from projections.switchback.schedule import CLUSTER, SwitchbackSettings
from projections.times import cluster_time

SWITCHBACK_HINT = "Whether acting would help here, `--mode active --switchback time` measures (docs/switchback.md)."
"""What stands where shadow mode is: it cannot say what its writes would have changed."""


def held_text(settings: SwitchbackSettings, block: int, held: Sequence[str]) -> str:
    """Return why nothing is done in a block, and until when."""
    until = f"until {cluster_time(settings.end_of(block))}"
    if settings.unit != "namespace":
        return f"held: switchback block {block} does not act ({until})"
    names = ", ".join(unit_text(unit) for unit in held)
    return f"held: switchback block {block} does not act on {names} ({until})"


def acting_text(block: int) -> str:
    """Return that a block acts."""
    return f"switchback block {block} acts"


def unit_text(unit: str) -> str:
    """Return what a unit is."""
    return "nodes and other namespaces" if unit == CLUSTER else f"namespace {unit}"
