"""Newest statement of the executor about what it cannot do."""

from __future__ import annotations

import structlog

from bus.errors import Temporary
from bus.events import event_of
from bus.port import Bus
from schemas import subjects
from schemas.capabilities import MissingCapability, OutcomeCapabilities
from schemas.identity import Origin


class NewestCapabilities:
    """Reads it from the log."""

    def __init__(self, bus: Bus, origin: Origin, *, known: bool) -> None:
        """Read the log of a cluster; `known` is False for a world without us."""
        self._bus = bus
        self._subject = subjects.build(origin.cluster, OutcomeCapabilities.PATTERN)
        self._known = known
        self._log = structlog.get_logger("collector")

    async def missing(self) -> tuple[MissingCapability, ...]:
        """Return the kinds of action that lack their means; none where the log cannot be read now."""
        if not self._known:
            return ()
        try:
            stored = await self._bus.last(self._subject)
        except Temporary as error:
            self._log.warning("capabilities not readable", error=str(error))
            return ()
        data = None if stored is None else event_of(stored).data
        return data.missing if isinstance(data, OutcomeCapabilities) else ()
