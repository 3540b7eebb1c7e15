"""All that a served twin has beside what every cluster has from its start on."""

from __future__ import annotations

from datetime import UTC, datetime

from twin.bootstrap.addresses import ClusterIpObjects, add_service_range
from twin.bootstrap.api_services import add_own_api_services
from twin.bootstrap.identity import ServerLease
from twin.changes import Change
from twin.rbac.control_plane_roles import add_control_plane_roles
from twin.store import Store
from twin.system_objects import add_own_slice
from twin.world import World

_TRACKING = "kube-apiserver-legacy-service-account-token-tracking"


class ServerObjects:
    """Makes them at the start, and keeps those that follow from others."""

    def __init__(self, world: World) -> None:
        """Follow a world."""
        self._world = world
        self._addresses = ClusterIpObjects(world)
        self._lease = ServerLease(world)

    def begin(self) -> None:
        """Create what is there from the start; namespaces, roles and default/kubernetes have to be there."""
        store = self._world.store
        add_own_slice(store)
        add_own_api_services(store)
        add_service_range(store)
        add_control_plane_roles(store)
        _add_tracking(store)
        self._lease.begin()

    def follow(self, change: Change) -> None:
        """Take in one change."""
        self._addresses.follow(change)


def _add_tracking(store: Store) -> None:
    """Say since when uses of old tokens are noted: no such token has been used before."""
    since = datetime.fromtimestamp(store.now(), UTC).strftime("%Y-%m-%d")
    obj = {"metadata": {"name": _TRACKING}, "data": {"since": since}}
    store.create("configmaps", "kube-system", obj)
