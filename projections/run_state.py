"""How a run stands: what the executor may do, where the work comes from, and how the run ended."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from projections.operating import OperatingState, operating_after
from schemas.config import Config
from schemas.envelope import Event
from schemas.run import RunComplete, RunDataSource, RunError


@dataclass(frozen=True, slots=True)
class RunState:
    """A run after the newest of its events."""

    operating: OperatingState = field(default_factory=OperatingState)
    """The executor's mode, and the operator's hold."""
    namespaces: tuple[str, ...] | None = None
    """Namespaces that the executor may write in; None: the simulated cluster's, all of them."""
    speed: float | None = None
    """Seconds of cluster time in a second of wall time; None: not known."""
    source: RunDataSource | None = None
    """Where the workload or the cluster comes from."""
    error: RunError | None = None
    """The newest failure that a process reported."""
    complete: RunComplete | None = None
    """How it ended; None while it goes on."""

    def after(self, event: Event[Any]) -> RunState:
        """Return the state after one event; of events of other kinds, the same state."""
        operating = operating_after(self.operating, event.data)
        state = self if operating is self.operating else replace(self, operating=operating)
        match event.data:
            case Config(process="executor", settings=settings):
                names = settings.get("namespaces")
                namespaces = tuple(map(str, names)) if isinstance(names, list | tuple) else None
                return replace(state, namespaces=namespaces)
            case Config(process="stack", settings={"run": {"speed": int() | float() as speed}}):
                return replace(state, speed=float(speed))
            case RunDataSource() as source:
                return replace(state, source=source)
            case RunError() as error:
                return replace(state, error=error)
            case RunComplete() as complete:
                return replace(state, complete=complete)
            case _:
                return state
