"""Looks for what an earlier stack left, once this one acts by its Lease, or begins to watch in shadow mode."""

from __future__ import annotations

from schemas.left_behind import LeftBehindAnswer, OutcomeLeftBehind
from schemas.outcome import Mode
from services.cluster import ClusterRefused, Transport
from services.executor.lease_reading import held_by_another
from services.executor.ledger import Ledger
from services.executor.left_behind_reading import (
    MOST_OUT_OF_REACH,
    NOT_SERVED,
    read_left_behind,
)
from services.executor.settings import ExecutorSettings

HELD_LOOKS = 3
"""In shadow mode, beside a Lease that somebody holds."""


class LeftBehindLook:
    """Looks once for each answer; again only where more was found than one event holds."""

    def __init__(self, transport: Transport, settings: ExecutorSettings) -> None:
        """Look through `transport`."""
        self._transport = transport
        self._settings = settings
        self._clean: set[LeftBehindAnswer] = set()
        """Answers for which there was nothing to say."""
        self._held_looks = 0
        self._not_before_seconds = 0.0
        self._tried: tuple[int, LeftBehindAnswer] | None = None

    async def look(self, state: Ledger, mode: Mode) -> OutcomeLeftBehind | None:
        """Return what is to be said; None where it was said, where nothing is left, or it is not time to look.

        Raises:
            ClusterUnavailable, ClusterRefused: the cluster could not be read; the next cycle tries again.
        """
        active = mode is Mode.ACTIVE
        answer = self._settings.left_behind if active else LeftBehindAnswer.LEAVE
        if not self._is_due(state, answer):
            return None
        self._tried = state.seen.cycle, answer
        left = await read_left_behind(self._transport, self._settings, state, mode)
        found = left.numbered()
        more = len(left.found) - len(found)
        if not found and not left.out_of_reach:
            self._clean.add(answer)
            return None
        if not active and await self._somebody_acts():
            self._wait_for_an_end(state)  # the marks may be those of a stack that lives
            return None
        return OutcomeLeftBehind(
            cycle=state.seen.cycle,
            cluster_time_seconds=state.seen.cluster_time_seconds,
            answer=answer,
            found=found,
            out_of_reach=tuple(left.out_of_reach[:MOST_OUT_OF_REACH]),
            more=more,
        )

    def _wait_for_an_end(self, state: Ledger) -> None:
        """Look again when the Lease of a stack that has died is over; not for ever, since one that lives keeps it."""
        self._held_looks += 1
        if self._held_looks < HELD_LOOKS:
            self._not_before_seconds = (
                state.seen.cluster_time_seconds + 2 * self._settings.lease_seconds
            )
        else:
            self._clean.add(LeftBehindAnswer.LEAVE)

    def _is_due(self, state: Ledger, answer: LeftBehindAnswer) -> bool:
        if state.seen.cluster_time_seconds < self._not_before_seconds:
            return False
        if not state.seen.id or answer in self._clean or self._tried == (state.seen.cycle, answer):
            return False
        if state.left_behind is not answer:
            return True
        again = state.left_behind_more and answer is not LeftBehindAnswer.LEAVE
        return bool(again) and state.seen.cycle > state.left_behind_cycle

    async def _somebody_acts(self) -> bool:
        """Say whether a stack that lives holds the Lease; where that may not be read, nobody is known to."""
        try:
            return bool(await held_by_another(self._transport, self._settings.lease_namespace))
        except ClusterRefused as error:
            if error.status in NOT_SERVED:
                return False
            raise
