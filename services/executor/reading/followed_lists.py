"""The lists that plans need whole, followed by watches instead of read for each plan.

A plan for one Deployment has to know all of them (what was added elsewhere counts), and every
autoscaler and PodDisruptionBudget. They change far less often than plans are made. Pods are not among
them: a plan needs those of one node or namespace, and asks the server for these.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Final

from bus.clock import Clock
from bus.item_errors import ItemErrors
from services.byte_stream import Piece
from services.cluster import JSON, ApiResponse, Json, Method
from services.kube_budgets import PATH as BUDGETS_PATH
from services.kube_budgets import PodDisruptionBudget
from services.kube_follow import ClusterTime, FollowedList, FollowTimes, WatchTransport
from services.kube_lists import ResourceList
from services.kube_objects import KubeStruct
from services.kube_workloads import Autoscaler, Deployment, Job
from services.rights.executor import AUTOSCALERS, WRITTEN

FOLLOWED: Final[Mapping[str, type[KubeStruct]]] = {
    f"{WRITTEN['deployments']}/deployments": Deployment,
    f"{WRITTEN['jobs']}/jobs": Job,
    f"{WRITTEN[AUTOSCALERS]}/{AUTOSCALERS}": Autoscaler,
    BUDGETS_PATH: PodDisruptionBudget,
}
"""Path of each list, and what its objects are decoded to."""


class FollowedLists:
    """A transport that knows some lists (`services.kube_lists.ListCache`); the rest it asks the server.

    A list is known while its watch is alive, and after a write of ours only once the watch has brought
    that write: a plan never counts without what the plan before it did.
    """

    def __init__(
        self,
        transport: WatchTransport,
        clock: Clock,
        random: Random,
        followed: Mapping[str, type[KubeStruct]] = FOLLOWED,
        errors: ItemErrors | None = None,
    ) -> None:
        """Ask through `transport`; `random` spreads requests over time and decides nothing else."""
        self._transport = transport
        self._times = FollowTimes()
        self._time = ClusterTime(clock)
        self._written: dict[str, str] = {}
        self._lists: dict[str, FollowedList[Any]] = {
            path: FollowedList(
                path, kind, transport, clock, self._time, random, self._times, errors
            )
            for path, kind in followed.items()
        }

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the lists up to date within the context."""
        tasks = [asyncio.create_task(each.run()) for each in self._lists.values()]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def known_list(self, path: str) -> ResourceList[Any] | None:
        """Return a whole list as of now; None where the server has to be asked."""
        followed, now = self._lists.get(path), self._time.now()
        if followed is None or now is None or followed.heard_seconds is None:
            return None
        lost = followed.failure is not None or followed.may_not_watch
        silent = now - followed.heard_seconds > self._times.silent_seconds
        if lost or silent or not _includes(followed.index.version, self._written.get(path)):
            return None
        return ResourceList(followed.index.objects(), followed.index.version, now)

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Ask the server; raises as `Transport.request`."""
        answer = await self._transport.request(method, path, query, body, content_type)
        if method != "GET" and "dryRun" not in (query or {}):
            self._note_write(path, answer)
        return answer

    def watch(
        self, path: str, query: Mapping[str, str], *, silent_seconds: float
    ) -> AsyncGenerator[Piece]:
        """Ask the server; raises as `WatchTransport.watch`."""
        return self._transport.watch(path, query, silent_seconds=silent_seconds)

    async def close(self) -> None:
        """Let go of connections."""
        await self._transport.close()

    def _note_write(self, path: str, answer: ApiResponse) -> None:
        collection = _collection(path)
        if collection in self._lists:
            metadata = json.loads(answer.body or b"{}").get("metadata") or {}
            version = str(metadata.get("resourceVersion", ""))
            # A write that changes nothing answers with an older version than the write before it had.
            if not _includes(self._written.get(collection, "0"), version):
                self._written[collection] = version


def _collection(path: str) -> str:
    """Return the list, over all namespaces, that an object's path belongs to."""
    group, within, rest = path.partition("/namespaces/")
    plural = rest.split("/")[1:2]
    return f"{group}/{plural[0]}" if within and plural else path


def _includes(version: str, written: str | None) -> bool:
    """Whether a list of this version holds the object of that one.

    Versions are decimal numbers that grow within a kind (KEP 5504, Kubernetes 1.35, and before it in
    practice); one that is not is never known to be reached.
    """
    if written is None:
        return True
    return version.isdigit() and written.isdigit() and int(version) >= int(written)
