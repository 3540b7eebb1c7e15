"""The shelves of a store: one for each built-in kind, one for each that a definition serves."""

from __future__ import annotations

from collections.abc import Mapping

from twin.definitions.registry import CustomKinds
from twin.kinds import KINDS
from twin.shelf import Shelf


def serve_shelves(
    shelves: Mapping[str, Shelf], custom: CustomKinds, log_size: int, version: int
) -> dict[str, Shelf]:
    """Return the shelves of what is served now, those of custom kinds in order of resource.

    A new one knows of nothing up to `version`; one whose definition is gone is left out.
    """
    served = {name: shelves[name] for name in KINDS}
    for name, kind in custom.stored.items():
        shelf = shelves.get(name)
        if shelf is None:
            shelf = Shelf(kind, log_size)
            shelf.log.begin_after(version)
        shelf.kind, shelf.versions = kind, custom.versions_of(name)
        served[name] = shelf
    return served
