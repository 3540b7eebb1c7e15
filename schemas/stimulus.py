"""Stimuli: load that the exerciser puts on the cluster on purpose, with the reaction it intends."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from schemas.actions import ActionKind, AgentName
from schemas.model import EventData
from schemas.numbers import Count, Cycle, Ratio, Seconds
from schemas.reasons import Reason


class Stimulus(EventData):
    """One phase of the exerciser: applied, given back, cleaned up; or skipped."""

    TYPE: ClassVar[str] = "foresail.stimulus.v1"
    WRITER: ClassVar[str] = "exerciser"
    PATTERN: ClassVar[tuple[str, ...]] = ("stimulus",)

    cycle: Cycle
    """Newest cycle when the phase was applied."""
    cluster_time_seconds: Seconds
    sequence: Count
    """Running number of the stimulus in this run."""
    status: Literal["applied", "giving_back", "skipped", "cleaned_up", "failed"]
    """giving_back: the executor is to take back what it did during the phase."""
    phase: Count
    """0 to 8."""
    name: str
    """`idle-power-save` ... `admission-cap`."""
    intended_agent: AgentName | None
    intended_kind: ActionKind | None
    intended_rule: str
    """The referee rule that should let it win."""
    namespace: str
    deployment: str = ""
    cpu_request_ratio: Ratio | None = None
    """Share of a node's allocatable CPU that one replica requests."""
    memory_request_ratio: Ratio | None = None
    cpu_request_millicores: Count | None = None
    memory_request_bytes: Count | None = None
    replicas: Count = 0
    unschedulable: bool = False
    randomised: bool = False
    reason: Reason | None = None
    text: str
    since_cycle: Cycle | None = Field(default=None, exclude_if=lambda cycle: cycle is None)
    """Nothing of what was decided from this cycle to `until_cycle` remains: the executor takes it back and begins
    none of it. applied: the cycles whose observations do not show the load yet, or not at rest; giving_back: those of
    the phase, and as many as giving back may take; cleaned_up: those up to the one in which the load was removed. None
    in both: nothing is concerned."""
    until_cycle: Cycle | None = Field(default=None, exclude_if=lambda cycle: cycle is None)
    intended_admission: str = Field(default="", exclude_if=lambda word: not word)
    """The word of an intended admission: `queue`, `deprioritize`."""
    node_selector: str = Field(default="", exclude_if=lambda label: not label)
    """Label `key=value` that the pods ask of a node; one that no node has keeps them waiting."""
    operation: str = Field(default="", exclude_if=lambda text: not text)
    """What was written: `create 1 Deployment and 4 Jobs`."""
    rollout: str = Field(default="", exclude_if=lambda text: not text)
    """How far the Deployments were at the phase's end: `3 of 3 replicas ready`."""
    decided: Count = Field(default=0, exclude_if=lambda count: not count)
    """Decisions of the intended action during the phase."""
    executed: Count = Field(default=0, exclude_if=lambda count: not count)
    """Executions of the intended action that went through."""
    verified: Count = Field(default=0, exclude_if=lambda count: not count)
    """Those of them that later observations showed."""
    given_back: Count = Field(default=0, exclude_if=lambda count: not count)
    """Those of them that were taken back, by the phase's end or by a later decision."""

    def key(self) -> str:
        """Return the running number and status."""
        return f"{self.sequence}-{self.status}"

    def line(self) -> str:
        """Return the phase and how far it is."""
        return f"phase {self.phase} {self.name} {self.status}: {self.text}"
