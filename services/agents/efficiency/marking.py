"""Marking: machines that are about to be given back get no new pods while others have room.

A node autoscaler empties the machines with the fewest pods, and the scheduler fills the emptiest ones: the same ones,
so that pods come only to be moved. A marked machine empties by itself instead, and is still there when demand rises.
Worth: pods that need not be moved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from schemas.actions import Evidence, MigrateAction
from services.agents.appraisal import Candidate, PolicyInput
from services.agents.demand_sample import GIB
from services.agents.effects import effect_of
from services.agents.moves import is_awake, moved_pods_cost, unrequested_cores, unrequested_gib
from services.agents.policy import node

SPARED_RATIO = 0.5
"""Share of a machine's pods that end, or request less, before it goes: of those that one hour of azure would have moved
without marks, half was not moved with them (docs/right-sizing.md).
"""
MARKED_FACTOR = 0.7
"""Pods of a marked machine count as so many, so that marks do not change places."""
MOST_MARKED = 0.5
"""Share of the machines that is marked at most."""


def machines_to_go(situation: PolicyInput) -> tuple[str, ...]:
    """Return the machines whose pods the others will have room for, those with the fewest pods a core first."""
    view, settings = situation.view, situation.settings
    wanted = settings.right_size and settings.marks and settings.machines_rented
    if not wanted or view.occupancy is None:
        return ()
    nodes, marked, closed = view.nodes, view.occupancy.marked, view.occupancy.closed
    rows = [
        row for row, name in enumerate(nodes.ids) if is_awake(nodes, row) and name not in closed
    ]
    cores = math.fsum(unrequested_cores(nodes, row) for row in rows)
    gib = math.fsum(unrequested_gib(nodes, row) for row in rows)

    def pods_a_core(row: int) -> float:
        factor = MARKED_FACTOR if nodes.ids[row] in marked else 1.0
        return factor * nodes.pods[row] / nodes.cpu_allocatable_cores[row]

    chosen: list[str] = []
    for row in sorted(rows, key=lambda row: (pods_a_core(row), nodes.ids[row])):
        size = nodes.memory_allocatable_bytes[row] / GIB
        cores -= _taken(nodes.cpu_allocatable_cores[row], unrequested_cores(nodes, row))
        gib -= _taken(size, unrequested_gib(nodes, row))
        if cores < 0.0 or gib < 0.0 or len(chosen) >= MOST_MARKED * len(rows):
            break
        chosen.append(nodes.ids[row])
    return tuple(chosen)


def _taken(whole: float, free: float) -> float:
    """Return what the others have less of without a machine: what is free on it, and what moves."""
    return free + (1.0 - SPARED_RATIO) * (whole - free)


def markings(situation: PolicyInput, to_go: tuple[str, ...]) -> Iterator[Candidate]:
    """Yield marks of machines with pods that are to go and bear none."""
    view, settings = situation.view, situation.settings
    rows = view.nodes.index()
    for name in to_go:
        pods = view.nodes.pods[rows[name]]
        if view.occupancy is None or name in view.occupancy.marked or not pods:
            continue
        terms = {
            term: SPARED_RATIO * cost for term, cost in moved_pods_cost(settings, pods).items()
        }
        few = Evidence(
            name="pods_on_node", value=pods, comparison=">=", threshold=1, subject=name, holds=True, signal="pods",
        )  # fmt: skip
        text = (
            f"{name} holds {pods} pods, for which the other machines have room: new ones go there"
        )
        effect = effect_of(
            terms, settings.saving_horizon_seconds, settings, spread=math.fsum(terms.values())
        )
        yield Candidate(MigrateAction(target=node(name), pods=()), effect, (few,), text)
