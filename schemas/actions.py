"""Words shared by proposals, decisions and outcomes: agents, action kinds, targets and parameters."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from pydantic import StringConstraints

from schemas.model import DataModel
from schemas.numbers import Ratio, Rounded, Seconds

AGENT_NAME = re.compile(r"^[a-z][a-z0-9_]{0,39}$")
"""What an agent's name may look like: a token of subjects, and a folder of Python."""
AgentName = Annotated[str, StringConstraints(pattern=AGENT_NAME.pattern)]
"""An agent by its name. Which agents there are is no matter of the schemas: a recording may hold one
that is not installed here.
"""


class ActionKind(StrEnum):
    """The nine kinds of action."""

    MIGRATE = "migrate"
    REPLICATE = "replicate"
    THROTTLE = "throttle"
    POWER_STATE = "power_state"
    DVFS = "dvfs"
    MEMORY_BALLOON = "memory_balloon"
    ADMISSION = "admission"
    RESOURCE_CAP = "resource_cap"
    NOOP = "noop"


class TargetKind(StrEnum):
    """What an action is aimed at."""

    NODE = "node"
    QUEUE = "queue"
    """The cluster's pending workloads."""
    NONE = "none"
    """A noop has no target."""


class Target(DataModel):
    """What an action is aimed at."""

    kind: TargetKind
    name: str = ""
    """The node's name, or the queue's (`pending`); empty for none."""


class Parameters(DataModel):
    """What to do exactly; only the fields of the kind are set."""

    admission: str | None = None
    """admission: admit, queue, deprioritize or reject."""
    power_state: str | None = None
    """power_state: sleep, off or on."""
    clock_scale_ratio: Ratio | None = None
    """dvfs: share of the full clock."""
    memory_scale_ratio: Ratio | None = None
    """memory_balloon: share of the memory left to the node's workloads."""
    cpu_cap_ratio: Ratio | None = None
    """resource_cap and throttle: share of the node's CPU that may be used."""
    memory_cap_ratio: Ratio | None = None
    """resource_cap: share of the node's memory that may be used."""


class Action(DataModel):
    """What is to be done, to what, by whose wish."""

    agent: AgentName | None
    """Who proposed it; None for the referee's own noop."""
    kind: ActionKind
    target: Target
    parameters: Parameters = Parameters()

    @property
    def full_kind(self) -> str:
        """The kind, and what it says in a word: `replicate`, `admission:queue`,
        `power_state:sleep`.
        """
        detail = self.parameters.admission or self.parameters.power_state
        return f"{self.kind}:{detail}" if detail else str(self.kind)


class Evidence(DataModel):
    """One number against its threshold, with the age of the signal behind it."""

    name: str
    """What was measured, e.g. `risk_ratio`."""
    value: Rounded | None
    """The measured value; None when it is missing."""
    comparison: str
    """How it is compared: `>=`, `<`, `==`."""
    threshold: Rounded | None
    holds: bool
    """Whether the comparison holds."""
    subject: str = ""
    """What it was measured on (a node's name); empty for the cluster."""
    signal: str = ""
    """Name of the signal it comes from."""
    age_seconds: Seconds | None = None
    """Age of that signal."""

    @property
    def words(self) -> str:
        """The comparison in words, e.g. `risk >= 0.83`; a proposal's `rule` is made of these,
        joined by ` and `.
        """
        return f"{self._shown} {self.comparison} {_number(self.threshold)}"

    @property
    def numbers(self) -> str:
        """The comparison with the measured value, e.g. `risk 0.95 >= 0.83`."""
        return f"{self._shown} {_number(self.value)} {self.comparison} {_number(self.threshold)}"

    @property
    def _shown(self) -> str:
        return self.name.removesuffix("_ratio").replace("_", " ")


def _number(value: float | None) -> str:
    return "missing" if value is None else f"{value:.6g}"
