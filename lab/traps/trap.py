"""The form of a trap: a small world, what happens in it, and what is checked afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from bus.errors import InputError
from inputs.limited_files import BadFile, read_toml
from lab.experiments.spec import NAME, BadExperiment
from schemas.model import DataModel

MINUTE = 60.0
What = Literal[
    "executed", "refused", "written", "turns", "replicas", "asleep", "waiting_seconds", "difference", "gain"
]  # fmt: skip
FILTERS: Mapping[What, frozenset[str]] = {
    "executed": frozenset({"kind", "target", "after_minute", "until_minute"}),
    "refused": frozenset({"kind", "target", "after_minute", "until_minute"}),
    "written": frozenset({"verb", "resource", "after_minute", "until_minute"}),
    "turns": frozenset({"target"}),
    "replicas": frozenset({"service", "until_minute"}),
    "asleep": frozenset({"until_minute"}),
    "waiting_seconds": frozenset({"after_minute", "until_minute"}),
    "difference": frozenset({"component"}),
    "gain": frozenset(),
}
"""Which fields each measure takes beside its bounds."""


class TrapCheck(DataModel):
    """One number of a played trap, and within which bounds it has to be."""

    text: str
    """The sentence that people read."""
    what: What
    """`executed`, `refused`: executions that succeeded, or that a guard rail refused; `written`: writes of ours that
    changed an object;
    `turns`: how often a target's replicas went up after down or down after up, by us; `replicas`: what a Service's
    Deployment wants; `asleep`: machines asleep; `waiting_seconds`: longest time without a break in which pods waited
    for capacity; `difference`: a component of the score, this world minus the untouched one, in its unit; `gain`:
    all of it, in money.
    """
    kind: str = "*"
    """Pattern of the action's kind and word, such as `power_state:*`."""
    target: str = "*"
    """Pattern of the target."""
    verb: str = "*"
    """Pattern of how it was written: patch, scale, evict, delete."""
    resource: str = "*"
    """Pattern of what was written, in the plural."""
    service: str = ""
    """`<namespace>/<name>`."""
    component: str = ""
    """Of the outcome score; of several PriorityClasses the sum, as `waiting`."""
    after_minute: float = Field(default=0.0, ge=0)
    until_minute: float | None = Field(default=None, gt=0)
    """None: to the end. `replicas` and `asleep` are looked at then."""
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        given = self.model_fields_set - {"text", "what", "at_least", "at_most"}
        foreign = sorted(given - FILTERS[self.what])
        if foreign:
            raise ValueError(f"{foreign[0]} means nothing to {self.what}; leave it out")
        if self.at_least is None and self.at_most is None:
            raise ValueError("give at_least or at_most; without, it cannot fail")
        if self.what == "replicas" and not self.service:
            raise ValueError("replicas needs service, as namespace/name")
        if self.what == "difference" and not self.component:
            raise ValueError("difference needs component")
        return self

    def holds(self, value: float) -> bool:
        """Say whether a measured number is within the bounds."""
        low, high = self.at_least, self.at_most
        return (low is None or value >= low) and (high is None or value <= high)


class Trap(DataModel):
    """A whole file."""

    name: str = Field(pattern=NAME)
    title: str
    situation: str
    """What happens, for people."""
    operator: str
    """What a good operator would do."""
    minutes: float = Field(gt=0, le=30)
    cycle_seconds: float = Field(default=15.0, ge=1)
    seed: int = Field(default=7, ge=0)
    nodes: int = Field(default=6, ge=1, le=12)
    """Plain nodes of 16 cores and 64 GiB, where `rows` has no nodes."""
    provisioner: Literal["none", "cluster-autoscaler", "karpenter", "warm-pool"] = "none"
    machines: str = ""
    """File of machine types beside the traps; empty: the built-in table."""
    weather: Literal["off", "mild", "rough"] = "off"
    known_failure: str = ""
    """Why the profile does not pass it today; empty: it does."""
    rows: tuple[dict[str, Any], ...]
    """The world as rows of a workload file (docs/workloads.md): arrivals, and nodes where plain ones do not do."""
    faults: tuple[dict[str, Any], ...] = ()
    """What goes wrong, as in a scenario file (docs/twin.md)."""
    must: tuple[TrapCheck, ...] = Field(min_length=1)
    must_not: tuple[TrapCheck, ...] = Field(min_length=1)

    @field_validator("must", "must_not", "rows", "faults", mode="before")
    @classmethod
    def _take_list(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @property
    def checks(self) -> tuple[TrapCheck, ...]:
        """Everything that is checked."""
        return (*self.must, *self.must_not)

    def workload_text(self) -> str:
        """Return the world as a workload file of JSON lines."""
        return "".join(json.dumps(row) + "\n" for row in self.rows)

    def scenario_text(self) -> str:
        """Return what goes wrong as a scenario file; empty where nothing does."""
        if not self.faults:
            return ""
        return json.dumps({"name": self.name, "seed": self.seed, "faults": list(self.faults)})


def read_trap(path: Path) -> Trap:
    """Return the trap that a file describes.

    Raises:
        BadExperiment: it does not fit; one line for each mistake.
        InputError: it cannot be read.
    """
    try:
        document = read_toml(path)
    except OSError as error:
        why = f"give a TOML file that can be read ({error.strerror})"
        raise InputError("TRAP", path, why) from error
    except BadFile as error:
        raise InputError("TRAP", path, str(error)) from error
    try:
        return Trap.model_validate({"name": path.stem, **document})
    except ValidationError as error:
        raise BadExperiment(path, error) from error


def read_traps(folder: Path) -> tuple[Trap, ...]:
    """Return every trap of a folder, by name.

    Raises:
        InputError: there is none, or one of them does not fit.
    """
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise InputError("--traps", folder, "name a folder with TOML files of traps")
    return tuple(read_trap(path) for path in paths)
