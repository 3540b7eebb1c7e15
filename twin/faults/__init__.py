"""What goes wrong in the embedded cluster on purpose: scenarios, and how they are played."""

from __future__ import annotations

from twin.faults.reading import read_scenario, scenario_of
from twin.faults.scenario import Scenario

__all__ = ["Scenario", "read_scenario", "scenario_of"]
