"""Scenarios: what is done to a cluster, and what is promised of it. One TOML file each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from bus.errors import InputError
from twin.port.files import public_shapes
from twin.port.settings import MachineType

Kind = Literal["control-plane", "cluster-autoscaler", "karpenter"]
KINDS: tuple[Kind, ...] = ("control-plane", "cluster-autoscaler", "karpenter")
SCENARIOS = Path(__file__).with_name("scenarios")
ZONE = "zone-a"
STEP_SECONDS = 0.5
"""Time between two looks at a cluster, on either side."""


@dataclass(frozen=True, slots=True)
class Promise:
    """One figure of a scenario, with what the documentation says of it."""

    text: str
    metric: str
    """Name of a function of `lab.fidelity.metrics` and its arguments, separated by blanks."""
    source: str
    documented: str = ""
    """`= x`, `<= x`, `>= x` or `x .. y`; empty: nothing is documented, the real program is the measure."""
    near: float = 0.0
    """How far the twin's number may be from the real program's."""
    cause: str = ""
    """Why the row fails, where it does."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Steps of a scenario, when and on which nodes."""

    name: str
    about: str
    kind: Kind
    seconds: float
    nodes: tuple[Mapping[str, Any], ...]
    steps: tuple[Mapping[str, Any], ...]
    promises: tuple[Promise, ...]
    machines: tuple[str, ...] = ()
    """What can be rented: names of the built-in catalogue (`twin.machines.public_shapes`)."""
    spot: bool = False
    """Whether they can be rented at spot, too."""
    groups: tuple[Mapping[str, Any], ...] = ()
    """Node groups of Cluster Autoscaler: name, machine, min, max."""
    pools: tuple[Mapping[str, Any], ...] = ()
    """NodePools of Karpenter: name, requirements, template, spec."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the provisioner, by the twin's names (`twin.config.provisioning`)."""
    node_count_cause: str = ""
    """Why the numbers of nodes differ too much, where they do."""


def rented_machines(scenario: Scenario) -> list[MachineType]:
    """Return the machines that a scenario may rent, in one zone, and on demand alone unless it says spot."""
    known = {one.name: one for one in public_shapes()}
    found = [known[name] for name in scenario.machines]
    in_zone = [replace(one, zones=(ZONE,)) for one in found]
    return in_zone if scenario.spot else [replace(one, spot_price_per_hour=0.0) for one in in_zone]


def scenario_names() -> list[str]:
    """Return the names of all scenarios, in order of their kind and name."""
    found = [read_scenario(file.stem) for file in SCENARIOS.glob("*.toml")]
    return [one.name for one in sorted(found, key=lambda one: (KINDS.index(one.kind), one.name))]


def read_scenario(name: str) -> Scenario:
    """Read one; raises InputError for a name that is unknown or a file that is incomplete."""
    file = SCENARIOS / f"{name}.toml"
    if not file.is_file():
        known = ", ".join(sorted(one.stem for one in SCENARIOS.glob("*.toml")))
        raise InputError("scenario", name, f"choose from {known}")
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    try:
        return Scenario(
            name=name,
            about=document["about"],
            kind=document["kind"],
            seconds=float(document["seconds"]),
            nodes=tuple(document.get("node", ())),
            steps=tuple(sorted(document["step"], key=lambda step: float(step["t"]))),
            promises=tuple(Promise(**row) for row in document["promise"]),
            machines=tuple(document.get("machines", ())),
            spot=bool(document.get("spot", False)),
            groups=tuple(document.get("group", ())),
            pools=tuple(document.get("pool", ())),
            settings=document.get("settings", {}),
            node_count_cause=document.get("node_count_cause", ""),
        )
    except (KeyError, TypeError) as error:
        raise InputError("scenario", name, f"complete the file: {error}") from error
