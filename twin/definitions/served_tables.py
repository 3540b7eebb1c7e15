"""The tables of a store: one for each built-in kind, one for each that a definition serves."""

from __future__ import annotations

from collections.abc import Mapping

from twin.definitions.registry import CustomKinds
from twin.kinds import KINDS
from twin.resource_table import ResourceTable


def serve_tables(
    tables: Mapping[str, ResourceTable], custom: CustomKinds, log_size: int, version: int
) -> dict[str, ResourceTable]:
    """Return the tables of what is served now, those of custom kinds in order of resource.

    A new one knows of nothing up to `version`; one whose definition is gone is left out.
    """
    served = {name: tables[name] for name in KINDS}
    for name, kind in custom.stored.items():
        table = tables.get(name)
        if table is None:
            table = ResourceTable(kind, log_size)
            table.log.begin_after(version)
        table.kind, table.versions = kind, custom.versions_of(name)
        served[name] = table
    return served
