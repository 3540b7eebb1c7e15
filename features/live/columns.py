"""Features: from an observation to the columns that a predictor reads.

A hash names exactly those numbers.

Pure and point-in-time: one observation goes in, nothing else. A predictor lists the features it
reads by name; a changed number in one of them changes `features_hash`, a changed number elsewhere
does not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas.observation import ObservedNodes
from schemas.view import ObservationView

Number = float | int | None
Column = tuple[Number, ...]

FEATURES: tuple[str, ...] = (
    "cpu_requested_ratio",
    "memory_requested_ratio",
    "cpu_used_ratio",
    "memory_used_ratio",
    "unhealthy_pods",
    "restarted_pods",
    "given_risk_ratio",
    "given_demand_ratio",
)
"""Every feature that can be asked for: columns of the observed nodes, unchanged, and what the source foresees."""


@dataclass(frozen=True, slots=True)
class FeatureColumns:
    """One row per node, one column per feature; None where the signal is missing."""

    ids: tuple[str, ...]
    columns: Mapping[str, Column]

    def row(self, number: int) -> dict[str, Number]:
        """Return one node's features by name."""
        return {name: column[number] for name, column in self.columns.items()}


def feature_columns(
    view: ObservationView, names: Sequence[str], signals: Sequence[str]
) -> FeatureColumns:
    """Return the columns `names` of every node for which all `signals` hold.

    Nodes that a needed signal lists as exceptions have no valid cells and are left out.

    Raises:
        KeyError: a name that is not in `FEATURES`.
    """
    unknown = [name for name in names if name not in FEATURES]
    if unknown:
        raise KeyError(f"no such feature: {unknown[0]}")
    excepted = frozenset(
        row_id for signal in view.signals if signal.name in signals for row_id in signal.exceptions
    )
    nodes: ObservedNodes = view.nodes
    rows = [number for number, name in enumerate(nodes.ids) if name not in excepted]
    whole = len(rows) == len(nodes)
    columns = {
        name: column if whole else tuple(column[row] for row in rows)
        for name, column in ((name, _column(view, name)) for name in names)
    }
    return FeatureColumns(tuple(nodes.ids[row] for row in rows), columns)


def _column(view: ObservationView, name: str) -> Column:
    if not name.startswith("given_"):
        return getattr(view.nodes, name)  # type: ignore[no-any-return]
    given = {} if view.given is None else view.given.index()
    cells = getattr(view.given, name.removeprefix("given_"), ())
    return tuple(cells[given[node]] if node in given else None for node in view.nodes.ids)


def features_hash(features: FeatureColumns) -> str:
    """Return the SHA-256 of the canonical JSON of ids and columns."""
    content = {"ids": features.ids, "columns": dict(features.columns)}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
