"""What may refuse or change an object on its way into the store, besides its own validation.

The engine hangs gates into its store: LimitRange and ResourceQuota. A gate that has nothing to do
(no such object in the cluster) costs one dictionary look-up.
"""

from __future__ import annotations

from typing import Protocol

from twin.kinds import Kind
from twin.records import Object


class Gate(Protocol):
    """One admission plugin that looks at other objects."""

    def prepare(self, kind: Kind, namespace: str, obj: Object) -> None:
        """Fill in defaults before validation."""

    def charge(
        self, kind: Kind, namespace: str, obj: Object, old: Object | None, *, dry_run: bool
    ) -> None:
        """Let a valid object pass or raise ApiError 403; `old` is what it replaces."""
