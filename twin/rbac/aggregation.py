"""ClusterRoles that are made of others: the rules of all that their aggregationRule selects.

Upstream: pkg/controller/clusterroleaggregation.
"""

from __future__ import annotations

from twin.changes import Change
from twin.copying import copy_object
from twin.records import Object, ObjectRecord
from twin.selectors import matches
from twin.store import Store
from twin.world import World

_RESOURCE = "clusterroles"


class RoleAggregation:
    """Keeps the rules of aggregated ClusterRoles what the others make them."""

    def __init__(self, world: World) -> None:
        """Follow the ClusterRoles of a world."""
        self._world = world
        world.clock.handle("clusterroles.aggregate", self._aggregate)

    def follow(self, change: Change) -> None:
        """Plan a look at the aggregated roles after a change of any ClusterRole."""
        if change.resource == _RESOURCE:
            self._world.clock.after(0.0, "clusterroles.aggregate")

    def _aggregate(self) -> None:
        aggregate_roles(self._world.store)


def aggregate_roles(store: Store) -> None:
    """Bring all aggregated ClusterRoles up to date; one may be made of another."""
    for record in list(store.records(_RESOURCE)):
        assert isinstance(record, ObjectRecord)
        selectors = (record.body.get("aggregationRule") or {}).get("clusterRoleSelectors")
        if not selectors or record.deletion_at is not None:
            continue
        rules = _selected_rules(store, selectors, record.name)
        if rules != (record.body.get("rules") or []):
            before = record.clone()
            record.body = {**record.body, "rules": rules}
            store.touch(_RESOURCE, record, before)


def _selected_rules(store: Store, selectors: list[Object], own_name: str) -> list[Object]:
    rules: list[Object] = []
    for selector in selectors:
        for other in store.records(_RESOURCE):
            assert isinstance(other, ObjectRecord)
            if other.name == own_name or not matches(selector, other.labels):
                continue
            rules += [
                copy_object(rule) for rule in other.body.get("rules") or () if rule not in rules
            ]
    return rules
