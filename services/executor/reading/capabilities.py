"""Asks the API server what it serves and what we may do, before anybody decides on it.

By discovery and SelfSubjectAccessReviews, which every authenticated user may create. What cannot be asked counts
as possible: the write itself is refused then, with the server's own words.
"""

from __future__ import annotations

import json

from schemas.actions import ActionKind
from schemas.capabilities import MissingCapability, OutcomeCapabilities, missing_of
from schemas.outcome import Mode
from services.cluster import ClusterRefused, Transport
from services.cluster_version import is_simulated
from services.executor.ledger import Ledger
from services.executor.reach import Scope
from services.executor.reading.namespaces import namespaces_with_defaults
from services.executor.reading.reach import read_scope
from services.executor.settings import ExecutorSettings
from services.rights import Right
from services.rights.executor import CLAIMS, NODES, Need, Why, all_needs, missing_means
from services.rights.reviews import may

MOST_NAMESPACES = 20
"""Asked about; of more, the first ones by name stand for all."""


async def read_missing_capabilities(
    transport: Transport, settings: ExecutorSettings, mode: Mode
) -> tuple[MissingCapability, ...]:
    """Return what cannot be done; in shadow mode, where every write is a dry run, rights are not asked for.

    Raises:
        ClusterUnavailable: the API server does not answer.
        ClusterRefused: it does not say which cluster it is.
    """
    scope = await read_scope(transport, settings, mode)
    simulated = await is_simulated(transport)
    unmet: dict[Need, Why] = {}
    served: dict[str, frozenset[str] | None] = {}
    for need in all_needs(settings, simulated=simulated):
        if need.list_path not in served:
            served[need.list_path] = await _served_resources(transport, need.list_path)
        names = served[need.list_path]
        if names is not None and need.resource not in names:
            unmet[need] = "not_served"
        elif need in {NODES, CLAIMS} and not scope.everything and not scope.nodes:
            unmet[need] = "no_node_named"
        elif mode is Mode.ACTIVE and not await _may_somewhere(transport, need, scope):
            unmet[need] = "forbidden"
    missing = missing_means(unmet, settings, simulated=simulated)
    cap = ActionKind.RESOURCE_CAP
    by_quota = settings.node_limits == "kubernetes" and not simulated
    if by_quota and missing_of(missing, cap) is None and not await _has_defaults(transport, scope):
        lacking = MissingCapability(kind=cap, needs="a LimitRange with defaults", why="no_defaults")
        missing = tuple(sorted((*missing, lacking), key=lambda one: one.kind))
    return missing


async def _has_defaults(transport: Transport, scope: Scope) -> bool:
    """Say whether a namespace that may be written gives containers their requests; so too where nobody knows."""
    found = await namespaces_with_defaults(transport)
    return found is None or any(scope.has_namespace(name) for name in found)


async def _served_resources(transport: Transport, path: str) -> frozenset[str] | None:
    """Return names of resources with their subresources; None where the server does not say."""
    try:
        content = json.loads((await transport.request("GET", path)).body)
        return frozenset(str(one["name"]) for one in content["resources"])
    except ClusterRefused as error:
        extension = "." in path  # the built-in groups are served wherever there is an API server
        return frozenset() if error.status == 404 and extension else None
    except (ValueError, KeyError, TypeError):
        return None


async def _may_somewhere(transport: Transport, need: Need, scope: Scope) -> bool:
    """Say whether a need is met in any namespace that may be written."""
    if not need.namespaced or scope.namespaces is None:
        return await _may(transport, need, "")
    names = sorted(scope.namespaces)[:MOST_NAMESPACES]
    for name in names:
        if await _may(transport, need, name):
            return True
    return not names


async def _may(transport: Transport, need: Need, namespace: str) -> bool:
    group, _, _ = need.group_version.rpartition("/")
    return await may(transport, Right(need.verb, need.resource, group), namespace) is not False


class CapabilityWatch:
    """Asks again from time to time, since rights come and go."""

    def __init__(self, transport: Transport, settings: ExecutorSettings) -> None:
        """Ask through `transport`."""
        self._transport = transport
        self._settings = settings
        self._asked: tuple[float, Mode] | None = None
        self._said: tuple[MissingCapability, ...] | None = None

    async def look(self, state: Ledger, mode: Mode) -> OutcomeCapabilities | None:
        """Return what is to be said; None where nothing has changed, or it is not time to ask.

        Raises:
            ClusterUnavailable, ClusterRefused: the cluster could not be asked.
        """
        now = state.seen.cluster_time_seconds
        if not state.seen.id or (
            self._asked is not None
            and self._asked[1] is mode
            and now - self._asked[0] < self._settings.means_seconds
        ):
            return None
        self._asked = now, mode
        missing = await read_missing_capabilities(self._transport, self._settings, mode)
        if missing == (state.missing_means if self._said is None else self._said):
            return None
        self._said = missing
        return OutcomeCapabilities(
            cycle=state.seen.cycle, cluster_time_seconds=now, missing=missing
        )
