"""How well the twin's own Cluster Autoscaler, Karpenter and controllers agree with the real programs."""

from __future__ import annotations

from collections.abc import Collection

from lab.experiments.report import Agreement
from lab.fidelity.__main__ import comparisons
from lab.fidelity.scenario import read_scenario, scenario_names


def measure_agreement(kinds: Collection[str]) -> dict[str, Agreement]:
    """Play the scenarios of `kinds` (`Scenario.kind`) in this checkout's twin, and count the rows that hold.

    Takes some seconds of processor time; the real programs' side is recorded.
    """
    names = [name for name in scenario_names() if read_scenario(name).kind in kinds]
    counted: dict[str, Agreement] = {}
    for one in comparisons(names):
        before = counted.get(one.scenario.kind, Agreement(0, 0))
        holding = sum(row.holds for row in one.rows)
        counted[one.scenario.kind] = Agreement(
            before.rows + len(one.rows), before.holding + holding
        )
    return counted
