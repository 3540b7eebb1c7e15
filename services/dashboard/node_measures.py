"""What the grid of nodes can be coloured by beside risk: one number per node, asked for by who looks at it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.observation import ObservedNodes
from schemas.score import OutcomeScore
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
MEASURES = ("demand", *COLUMNS, "price")


def measure_json(page: Page, by: str) -> Json | None:
    """Return one value per node, in the order of `node_names`, and the end of the scale; None for no such measure.

    A ratio's scale ends at 1, another one's at its highest value.
    """
    if by not in MEASURES:
        return None
    nodes = ObservedNodes() if page.observation is None else page.observation.nodes
    unit, values = "", list[float | None]()
    match by:
        case "demand":
            values = _demand(page, nodes)
        case "price":
            unit, values = _prices(page.overview.score, nodes)
        case _:
            unit, values = ("W" if by == "power" else ""), list(getattr(nodes, COLUMNS[by]))
    highest = max((value for value in values if value is not None), default=1.0) if unit else 1.0
    return {"by": by, "unit": unit, "highest": highest, "values": values}


def _demand(page: Page, nodes: ObservedNodes) -> list[float | None]:
    if page.overview.demand is None:
        return [None] * len(nodes.ids)
    told = page.overview.demand.nodes
    known = dict(zip(told.ids, told.demand_ratio, strict=True))
    return [known.get(name) for name in nodes.ids]


def _prices(score: OutcomeScore | None, nodes: ObservedNodes) -> tuple[str, list[float | None]]:
    """Return what the outcome score charges an hour for each node: itself, what it offers, and its energy."""
    if score is None:
        return "", [None] * len(nodes.ids)
    price = {one.name: -one.price for one in score.components}
    columns = zip(
        nodes.cpu_allocatable_cores, nodes.memory_allocatable_bytes, nodes.power_watts, strict=True
    )
    values: list[float | None] = [
        round(
            price.get("nodes", 0.0)
            + cores * price.get("cores", 0.0)
            + size / 2**30 * price.get("memory", 0.0)
            + watts / 1_000 * price.get("energy", 0.0),
            6,
        )
        for cores, size, watts in columns
    ]
    return f"{score.currency}/h", values
