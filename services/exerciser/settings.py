"""Settings of the exerciser."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from schemas.model import DataModel


class ExerciserSettings(DataModel):
    """Settings of the exerciser's process."""

    phase_cycles: int = Field(default=3, ge=2)
    """Cycles for which a phase stays on. The first may still see pods starting (which the baseline
    calls unhealthy); the intended effect is judged on the last one."""
    rounds: int = Field(default=0, ge=0)
    """How often to go through the nine phases; 0: until stopped."""
    randomise: bool = False
    """Draw sizes within the ranges that still give the intended effect."""
    seed: int = Field(default=7, ge=0)
    """Phase i draws from Random(seed + i), so each phase repeats by itself."""
    image: str = "rancher/mirrored-pause:3.10"
    """Image of the load's pods; they only hold requests."""
    most_nodes: int = Field(default=200, ge=1)
    """Phases 1 and 2 put one Deployment on each node; larger clusters skip them."""
    expiry_seconds: float = Field(default=0.0, ge=0)
    """Cluster seconds after which a phase's load goes by itself, whatever became of the exerciser, and at an orderly
    end its namespace is removed; 0: neither. A run with a kubeconfig sets it to three times a phase, 600 at least."""
    mirrors: tuple[str, ...] = ()
    """Kubeconfigs of further clusters on which each phase is put at the same moment, sized for that cluster; for
    comparisons. Nothing else there is read or written."""
    request_timeout_seconds: float = Field(default=10.0, gt=0)
    """Wall seconds after which a request to the API server is given up."""

    def announcement(self) -> dict[str, Any]:
        """Return everything that can change a result, for the config event."""
        return self.model_dump(mode="json", exclude={"mirrors"})
