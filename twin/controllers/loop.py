"""Runs controllers: what changed is noted once and reconciled a moment later, in order."""

from __future__ import annotations

from collections.abc import Callable

from twin.clock import Clock
from twin.part import Part

DELAY_SECONDS = 0.05  # watch latency of a controller manager at rest
Reconcile = Callable[[str, str], None]
"""(namespace, name)"""


class ControllerLoop(Part):
    """A queue of (resource, namespace, name) without duplicates."""

    KEEPS = ("_noted",)
    LEAVES = ("_reconcilers",)  # registered when the engine is built

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._noted: dict[tuple[str, str, str], None] = {}
        self._reconcilers: dict[str, Reconcile] = {}
        clock.handle("controllers.run", self._run)
        clock.handle("controllers.note", self.note)

    def register(self, resource: str, reconcile: Reconcile) -> None:
        """Let `reconcile` bring objects of `resource` to what their spec says."""
        self._reconcilers[resource] = reconcile

    def note(self, resource: str, namespace: str, name: str) -> None:
        """Have an object looked at soon; writes nothing now."""
        if not self._noted:
            self._clock.after(DELAY_SECONDS, "controllers.run")
        self._noted[(resource, namespace, name)] = None

    def note_later(self, delay: float, resource: str, namespace: str, name: str) -> None:
        """Have an object looked at after `delay` seconds."""
        self._clock.after(delay, "controllers.note", resource, namespace, name)

    def _run(self) -> None:
        noted, self._noted = self._noted, {}
        for resource, namespace, name in noted:
            self._reconcilers[resource](namespace, name)
