"""Settings of the exerciser."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from schemas.model import DataModel


class ExerciserSettings(DataModel):
    """Settings of the exerciser's process."""

    phase_cycles: int = Field(default=3, ge=1)
    """Cycles for which a phase stays on at least. The first may still see pods starting (which the baseline
    calls unhealthy)."""
    patience_cycles: int = Field(default=8, ge=0, le=20)
    """Further cycles for which a phase waits until what it intends was executed and verified, and again until it was
    given back; 0: it does not wait."""
    every_cycles: int | None = Field(default=None, ge=1)
    """A new phase each so many cycles, whatever has become of the last one, of which nothing is taken back (the
    rhythm of the first predecessor). Unset: a phase ends once what it intends was seen through."""
    give_back: bool = True
    """Have the executor take back what it did during a phase before the next one begins."""
    namespace: str = Field(
        default="foresail-exercise", pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
    )
    """Namespace of the load; nothing else is written."""
    marks: Literal["foresail", "borg-orchestrator"] = "foresail"
    """By whose labels the load is known: ours, or `app.kubernetes.io/part-of=borg-orchestrator-exerciser` and the
    node label `borg-orchestrator/exercise-slot` of the first predecessor."""
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
    request_timeout_seconds: float = Field(default=10.0, gt=0)
    """Wall seconds after which a request to the API server is given up."""

    @property
    def gives_back(self) -> bool:
        """Whether a phase waits until what was done is taken back."""
        return self.give_back and self.patience > 0

    @property
    def least_cycles(self) -> int:
        """Cycles for which a phase stays on at least."""
        return self.every_cycles or self.phase_cycles

    @property
    def patience(self) -> int:
        """Cycles for which it waits beyond that."""
        return 0 if self.every_cycles else self.patience_cycles

    def announcement(self) -> dict[str, Any]:
        """Return everything that can change a result, for the config event."""
        return self.model_dump(mode="json")
