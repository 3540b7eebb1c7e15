"""What the grid of nodes can be coloured by beside risk: one number per node, asked for by who looks at it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemas.observation import ObservedNodes
from services.dashboard.cycle_json import Json
from services.dashboard.page import Page

COLUMNS: Mapping[str, str] = {
    "cpu_used": "cpu_used_ratio",
    "cpu_requested": "cpu_requested_ratio",
    "memory_used": "memory_used_ratio",
    "memory_requested": "memory_requested_ratio",
    "power": "power_watts",
}
"""By measure, the column of an observed node."""
UNITS: Mapping[str, str] = {"power": "W"}
"""The others are ratios."""
MEASURES = ("demand", *COLUMNS)


def measure_json(page: Page, by: str) -> Json | None:
    """Return one value per node, in the order of `node_names`, and the end of the scale; None for no such measure.

    A ratio's scale ends at 1, another one's at its highest value.
    """
    if by not in MEASURES:
        return None
    nodes = ObservedNodes() if page.observation is None else page.observation.nodes
    values = _demand(page, nodes) if by == "demand" else list(getattr(nodes, COLUMNS[by]))
    unit = UNITS.get(by, "")
    highest = max((value for value in values if value is not None), default=1.0) if unit else 1.0
    return {"by": by, "unit": unit, "highest": highest, "values": values}


def _demand(page: Page, nodes: ObservedNodes) -> Sequence[float | None]:
    if page.overview.demand is None:
        return [None] * len(nodes.ids)
    told = page.overview.demand.nodes
    known = dict(zip(told.ids, told.demand_ratio, strict=True))
    return [known.get(name) for name in nodes.ids]
