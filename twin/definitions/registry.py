"""The custom kinds of one store: what its established definitions serve.

It follows from the definitions alone, so it is neither kept nor part of the state.
"""

from __future__ import annotations

from collections.abc import Iterable

from twin.definitions.reading import kinds_of_definition
from twin.errors import ApiError
from twin.kinds import KINDS, Kind
from twin.records import ObjectRecord, Record

DEFINITIONS = "customresourcedefinitions"


class CustomKinds:
    """Custom kinds by what clients and controllers know of them."""

    def __init__(self) -> None:
        """Begin with none."""
        self.served: tuple[Kind, ...] = ()
        """Every version that is served, in order of resource and then of version."""
        self.stored: dict[str, Kind] = {}
        """The version that each resource is kept in, in order of resource."""
        self.laid_over: dict[str, Kind] = {}
        """What definitions say of kinds that the simulation has itself, by resource."""
        self._ending: set[str] = set()
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self._by_kind: dict[tuple[str, str], str] = {}
        self._known: dict[str, tuple[int, list[Kind], list[Kind]]] = {}

    def read(self, definitions: Iterable[Record]) -> None:
        """Read all definitions, in order of name; unchanged ones are not read again."""
        known, served = self._known, []
        self._known, self.stored, self._ending, self.laid_over = {}, {}, set(), {}
        for record in definitions:
            assert isinstance(record, ObjectRecord)
            if not is_established(record):
                continue
            entry = known.get(record.uid)
            if entry is None or entry[0] != record.generation:
                changed = record.generation > 1
                kept = kinds_of_definition(record.body, stored=True, changed=changed)
                entry = (
                    record.generation,
                    kept,
                    kinds_of_definition(record.body, changed=changed),
                )
            self._known[record.uid] = entry
            if _is_built_in(record):
                self._lay_over(entry[2])
                continue
            self.stored[record.name] = entry[1][0]
            if record.deletion_at is not None:
                self._ending.add(record.name)
            served += entry[2]
        self.served = tuple(served)
        self._by_path = {(kind.group, kind.version, kind.plural): kind for kind in served}
        self._by_kind = {(kind.group, kind.kind): name for name, kind in self.stored.items()}

    def _lay_over(self, served: Iterable[Kind]) -> None:
        """Note what a definition says of the version that the simulation has."""
        for kind in served:
            plural = kind.resource.partition(".")[0]
            if kind.version == KINDS[plural].version:
                self.laid_over[plural] = kind

    def require_creatable(self, kind: Kind) -> None:
        """Raise ApiError 405 for a kind whose definition is being deleted."""
        if kind.resource in self._ending:
            why = "create not allowed while custom resource definition is terminating"
            raise ApiError(405, "MethodNotAllowed", why)

    def serves(self, kind: Kind) -> bool:
        """Say whether a kind is still served as it was when somebody found it."""
        return self._by_path.get((kind.group, kind.version, kind.plural)) is kind

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """Return the kind that a path means; None when no definition serves it."""
        return self._by_path.get((group, version, plural))

    def resource_of(self, group: str, kind: str) -> str | None:
        """Return the resource of a custom kind."""
        return self._by_kind.get((group, kind))

    def versions_of(self, resource: str) -> dict[str, Kind]:
        """Return the served versions of a resource by apiVersion."""
        return {kind.api_version: kind for kind in self.served if kind.resource == resource}

    def kind_of(self, resource: str) -> Kind | None:
        """Return a kind that is kept, built-in ones included."""
        return KINDS.get(resource) or self.stored.get(resource)


def _is_built_in(record: ObjectRecord) -> bool:
    """Say whether the simulation has this kind itself: the definition adds what objects have to keep to."""
    plural, _, group = record.name.partition(".")
    return plural in KINDS and KINDS[plural].group == group


def is_established(record: ObjectRecord) -> bool:
    """Say whether a definition's names are accepted, so that its objects are served."""
    status = record.body.get("status") or {}
    return any(
        entry.get("type") == "Established" and entry.get("status") == "True"
        for entry in status.get("conditions") or ()
    )
