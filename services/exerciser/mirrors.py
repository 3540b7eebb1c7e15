"""Further clusters that get each phase at the same moment, each sized for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import structlog

from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.exerciser.cluster import create_load, read_load, remove_all, remove_namespace
from services.exerciser.phases import Phase
from services.exerciser.plan import LoadPlan, plan_phase
from services.exerciser.settings import ExerciserSettings
from services.official_client import OfficialClientTransport


class Mirrors:
    """The clusters, in the order in which they were given."""

    def __init__(self, settings: ExerciserSettings, transports: Sequence[Transport]) -> None:
        """Put load on the clusters of `transports`."""
        self._settings = settings
        self._transports = tuple(transports)
        self._log = structlog.get_logger("exerciser")

    @classmethod
    def of(cls, settings: ExerciserSettings) -> Mirrors:
        """Reach the clusters of the settings' kubeconfigs.

        Raises:
            ConfigError: one of them cannot be used.
        """
        timeout = settings.request_timeout_seconds
        paths = map(Path, settings.mirrors)
        return cls(
            settings, [OfficialClientTransport(one, None, timeout_seconds=timeout) for one in paths]
        )

    async def plans(self, phase: Phase) -> list[Coroutine[Any, Any, str]]:
        """Return for each cluster what puts the phase there, to be awaited together with the first cluster's; each
        gives the line that says what became of it.
        """
        prepared = await asyncio.gather(*(self._plan(one, phase) for one in self._transports))
        return [
            self._create(number, transport, plan, hostnames)
            for number, (transport, (plan, hostnames)) in enumerate(
                zip(self._transports, prepared, strict=True), start=1
            )
        ]

    async def _plan(self, transport: Transport, phase: Phase) -> tuple[LoadPlan | str, Any]:
        try:
            load = await read_load(transport)
        except (ClusterUnavailable, ClusterRefused) as error:
            return f"cannot be read ({error})", {}
        return plan_phase(phase, load.nodes, load.waiting_pods, self._settings), load.hostnames

    async def _create(
        self, number: int, transport: Transport, plan: LoadPlan | str, hostnames: Any
    ) -> str:
        if isinstance(plan, str):
            return f"mirror {number}: {plan[:200]}"
        if plan.reason is not None:
            return f"mirror {number}: skipped, {plan.text}"
        try:
            await create_load(
                transport,
                plan.loads,
                self._settings.image,
                hostnames,
                expiry_seconds=self._settings.expiry_seconds,
            )
        except (ClusterUnavailable, ClusterRefused) as error:
            return f"mirror {number}: failed, {str(error)[:200]}"
        return f"mirror {number}: applied, {plan.text}"

    async def remove(self, *, namespace: bool = False) -> None:
        """Remove the load everywhere; a cluster that does not answer is named and left to the load's own end."""
        for number, transport in enumerate(self._transports, start=1):
            try:
                await remove_all(transport)
                if namespace:
                    await remove_namespace(transport)
            except (ClusterUnavailable, ClusterRefused) as error:
                self._log.error("mirror not cleaned up", mirror=number, error=str(error))

    async def close(self) -> None:
        """Let the connections go."""
        for transport in self._transports:
            close = getattr(transport, "close", None)
            if close is not None:
                await close()
