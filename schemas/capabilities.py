"""Layer 6: which actions cannot be done here, asked before anybody decides on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from schemas.actions import ActionKind
from schemas.model import DataModel, EventData
from schemas.numbers import Cycle, Seconds


class MissingCapability(DataModel):
    """A kind of action that cannot be done, and what it would need."""

    kind: ActionKind
    needs: str
    """Verb and resource of the API, such as `patch pods/resize`."""
    why: Literal["not_served", "forbidden", "no_node_named", "no_defaults"]
    """The server does not serve it; an access review says no; `executor.writable_nodes` names no node; no
    namespace has a LimitRange with defaults."""

    @property
    def text(self) -> str:
        """The kind, its need and why it is not met, for people."""
        return f"{self.kind} ({self.needs}: {self.why.replace('_', ' ')})"


class OutcomeCapabilities(EventData):
    """Change of what can be done, as the executor was told by the API server."""

    TYPE: ClassVar[str] = "foresail.outcome.means.v1"
    WRITER: ClassVar[str] = "executor"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "means")

    cycle: Cycle
    """Cycle of the newest observation when it was asked."""
    cluster_time_seconds: Seconds
    missing: tuple[MissingCapability, ...]
    """Every kind that cannot be done now, by name; empty: all can."""

    @property
    def text(self) -> str:
        """One line for people."""
        return capabilities_text(self.missing)

    def line(self) -> str:
        """Return what changed."""
        return f"cycle {self.cycle}: {self.text}"


def capabilities_text(missing: Sequence[MissingCapability]) -> str:
    """Return what cannot be done in one line."""
    return (
        f"cannot be done here: {', '.join(one.text for one in missing)}"
        if missing
        else ("every kind of action can be done here")
    )


def missing_of(missing: Sequence[MissingCapability], kind: ActionKind) -> MissingCapability | None:
    """Return what a kind of action lacks; None: nothing."""
    return next((one for one in missing if one.kind is kind), None)
