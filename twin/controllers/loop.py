"""Runs controllers: what changed is noted once and reconciled a moment later, in order.

A reconciliation that fails is tried again after 5 ms, 10 ms, 20 ms ... 1,000 s, as the work queues
of a controller manager do; a change of the object lets it be tried at once. One that raises has failed: it is
told with its key, and the others go on. A refusal of the API server is the cluster's affair and never ends a
run; another error is a defect, which ends it where the clock does not survive errors.
"""

from __future__ import annotations

from collections.abc import Callable

from twin.clock import Clock
from twin.config.controllers import ControllerConfig
from twin.errors import ApiError
from twin.part import Part

DELAY_SECONDS = 0.05  # watch latency of a controller manager at rest
Reconcile = Callable[[str, str], bool | None]
"""(namespace, name); False when it has to be tried again"""
Key = tuple[str, str, str]


class ControllerLoop(Part):
    """A queue of (resource, namespace, name) without duplicates."""

    KEEPS = ("_noted", "_failures")
    LEAVES = ("_reconcilers", "_waits")  # registered when the engine is built

    def __init__(self, clock: Clock, config: ControllerConfig) -> None:
        self._clock = clock
        self._config = config
        self._noted: dict[Key, None] = {}
        self._failures: dict[Key, int] = {}  # in a row
        self._reconcilers: dict[str, Reconcile] = {}
        self._waits: dict[str, tuple[float, float]] = {}
        clock.handle("controllers.run", self._run)
        clock.handle("controllers.note", self.note)

    def register(
        self, resource: str, reconcile: Reconcile, waits: tuple[float, float] | None = None
    ) -> None:
        """Let `reconcile` bring objects of `resource` to what their spec says.

        `waits` are the first and the longest delay after a failure, if they are not the usual ones.
        """
        self._reconcilers[resource] = reconcile
        config = self._config
        self._waits[resource] = waits or (config.retry_first_seconds, config.retry_most_seconds)

    def note(self, resource: str, namespace: str, name: str) -> None:
        """Have an object looked at soon, if it has a controller; writes nothing now."""
        if resource not in self._reconcilers:
            return
        if not self._noted:
            self._clock.after(DELAY_SECONDS, "controllers.run")
        self._noted[(resource, namespace, name)] = None

    def note_later(self, delay: float, resource: str, namespace: str, name: str) -> None:
        """Have an object looked at after `delay` seconds."""
        self._clock.after(delay, "controllers.note", resource, namespace, name)

    def _run(self) -> None:
        noted, self._noted = self._noted, {}
        for key in noted:
            try:
                done = self._reconcilers[key[0]](key[1], key[2]) is not False
            except ApiError:
                done = False
            except Exception as error:
                self._clock.fail("reconcile", key, error)
                done = False
            if not done:
                self._retry(key)
            elif self._failures:
                self._failures.pop(key, None)

    def _retry(self, key: Key) -> None:
        count = self._failures.get(key, 0)
        self._failures[key] = count + 1
        first, most = self._waits[key[0]]
        delay = min(first * 2.0 ** min(count, 40), most)
        self.note_later(delay, *key)
