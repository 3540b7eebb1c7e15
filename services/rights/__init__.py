"""Rights of each process at the API server: one verb on one resource, where, and what for.

Every right stands in this folder: `collector.py`, `executor.py` (with what each kind of action needs) and `logins.py`
state them, `reviews.py` asks the API server for them, `installation.py` puts them together. Roles of deploy/,
`foresail rbac`, `foresail doctor`, what a process asks for at its start, and which actions the executor says that
it cannot do all follow from these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

REQUIRED = "FORESAIL_REQUIRE_RIGHTS"
"""Variable that makes a process ask for its rights at its start; unset: nothing is asked."""
READ = "read"
"""Its value for reading alone."""


class RightScope(StrEnum):
    """Where a right holds."""

    CLUSTER = "cluster"
    """In every namespace, or of what lies in none."""
    NAMED = "named"
    """In the namespaces that may be written, by a RoleBinding in each."""
    NODES = "nodes"
    """Of nodes and their claims, only where `executor.writable_nodes` names some."""
    OWN = "own"
    """In the namespace that Foresail itself runs in."""


@dataclass(frozen=True, slots=True)
class Right:
    """A verb on a resource."""

    verb: str
    resource: str
    """With its subresource, such as `pods/resize`."""
    group: str = ""
    """The API group; empty: the core."""
    place: RightScope = RightScope.CLUSTER
    why: str = ""
    """What needs it, in a few words."""
    names: tuple[str, ...] = ()
    """Only objects of these names; empty: all."""

    @property
    def text(self) -> str:
        """Verb and resource with its group, as `kubectl auth can-i` takes them."""
        resource, slash, subresource = self.resource.partition("/")
        group = f".{self.group}" if self.group else ""
        return f"{self.verb} {resource}{group}{slash}{subresource}"


def review_spec(right: Right, namespace: str) -> dict[str, Any]:
    """Return the spec of a SelfSubjectAccessReview; an empty namespace asks for all of them."""
    resource, _, subresource = right.resource.partition("/")
    asked = {
        "verb": right.verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": namespace,
        "name": right.names[0] if right.names else "",
    }
    return {"resourceAttributes": {name: text for name, text in asked.items() if text}}


def places_to_ask(
    rights: Iterable[Right], namespaces: Sequence[str], own: str
) -> list[tuple[Right, str]]:
    """Return each right with each namespace that it has to hold in; empty: everywhere."""
    asked: list[tuple[Right, str]] = []
    for right in rights:
        where = {RightScope.NAMED: namespaces, RightScope.OWN: (own,)}.get(right.place, ("",))
        asked.extend((right, namespace) for namespace in where)
    return asked
