"""Quotas of ClusterQueues and Cohorts as a tree, and what of them is free.

A node keeps for itself what its lending limit does not let go; the rest counts with its parent. What is used beyond
that own part is used at the parent. Source: concepts/cluster_queue.md, concepts/cohort.md. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

FlavorResource = tuple[str, str]
"""(flavor, resource)"""
Quantities = Mapping[FlavorResource, int]


@dataclass(frozen=True, slots=True)
class Quota:
    """What one node says about one resource of one flavor."""

    nominal: int
    borrowing: int | None = None
    """Most that is taken from the parent beyond what the node puts there; None: no limit."""
    lending: int | None = None
    """Most that the node puts there; None: all."""


class Node:
    """A ClusterQueue or a Cohort."""

    def __init__(self, name: str, quotas: Mapping[FlavorResource, Quota]) -> None:
        """Begin alone and unused."""
        self.name = name
        self.quotas = dict(quotas)
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.subtree: dict[FlavorResource, int] = {}
        """The node's quota with what its children put there."""
        self.usage: dict[FlavorResource, int] = {}

    def measure(self) -> None:
        """Add up the quotas of the subtree; to be called for its root before anything is used."""
        self.subtree = {key: quota.nominal for key, quota in self.quotas.items()}
        for child in self.children:
            child.measure()
            for key, amount in child.subtree.items():
                self.subtree[key] = self.subtree.get(key, 0) + amount - child.own_quota(key)

    def own_quota(self, key: FlavorResource) -> int:
        """Return what the parent cannot see."""
        quota = self.quotas.get(key)
        if quota is None or quota.lending is None:
            return 0
        return max(0, self.subtree.get(key, 0) - quota.lending)

    def own_free(self, key: FlavorResource) -> int:
        """Return what is free of that."""
        return max(0, self.own_quota(key) - self.usage.get(key, 0))

    def available(self, key: FlavorResource) -> int:
        """Return what the node may use now; below zero when too much is used."""
        used, quota = self.usage.get(key, 0), self.quotas.get(key)
        if self.parent is None:
            return self.subtree.get(key, 0) - used
        above = self.parent.available(key)
        if quota is not None and quota.borrowing is not None:
            own = self.own_quota(key)
            lent = self.subtree.get(key, 0) - own
            above = min(above, lent - max(0, used - own) + quota.borrowing)
        return self.own_free(key) + above

    def capacity(self, key: FlavorResource) -> int:
        """Return what the node could use were nothing used."""
        if self.parent is None:
            return self.subtree.get(key, 0)
        found = self.own_quota(key) + self.parent.capacity(key)
        quota = self.quotas.get(key)
        if quota is not None and quota.borrowing is not None:
            found = min(found, self.subtree.get(key, 0) + quota.borrowing)
        return found

    def borrows_with(self, key: FlavorResource, amount: int) -> bool:
        """Say whether the node is over its quota once it uses so much more."""
        return self.usage.get(key, 0) + amount > self.subtree.get(key, 0)

    def within_quota(self, keys: Iterable[FlavorResource]) -> bool:
        """Say whether the node borrows nothing of these."""
        return not any(self.borrows_with(key, 0) for key in keys)

    def use(self, key: FlavorResource, amount: int) -> None:
        """Use an amount; what exceeds the node's own free part is used at the parent."""
        beyond = amount - self.own_free(key)
        self.usage[key] = self.usage.get(key, 0) + amount
        if self.parent is not None and beyond > 0:
            self.parent.use(key, beyond)

    def free(self, key: FlavorResource, amount: int) -> None:
        """Take a use back."""
        beyond = self.usage.get(key, 0) - self.own_quota(key)
        self.usage[key] = self.usage.get(key, 0) - amount
        if self.parent is not None and beyond > 0:
            self.parent.free(key, min(amount, beyond))

    def ancestors(self) -> Iterator[Node]:
        """Yield the parent, its parent and so on up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def height(self) -> int:
        """Return how many steps it is to the farthest leaf."""
        return 1 + max(child.height() for child in self.children) if self.children else 0

    def exceeding(self, requests: Quantities) -> tuple[bool, dict[FlavorResource, int]]:
        """Say whether requests fit the node's quota, and what of them exceeds its own free part."""
        fits = all(
            self.usage.get(key, 0) + amount <= self.subtree.get(key, 0)
            for key, amount in requests.items()
        )
        return fits, {key: max(0, n - self.own_free(key)) for key, n in requests.items()}

    def lowest_fit(self, key: FlavorResource, amount: int) -> tuple[int, bool]:
        """Return how high the lowest subtree is whose quota has room for a request, 0 for the node
        itself, and whether there is a larger one around it.
        """
        if self.parent is None or not self.borrows_with(key, amount):
            return 0, self.parent is not None
        rest, last = amount - self.own_free(key), self.parent
        for node in self.ancestors():
            if not node.borrows_with(key, rest):
                return node.height(), node.parent is not None
            rest, last = rest - node.own_free(key), node
        return last.height(), False
