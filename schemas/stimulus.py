"""Stimuli: load that the exerciser puts on the cluster on purpose, with the reaction it intends."""

from __future__ import annotations

from typing import ClassVar, Literal

from schemas.actions import ActionKind, AgentName
from schemas.model import EventData
from schemas.numbers import Count, Cycle, Ratio, Seconds
from schemas.reasons import Reason


class Stimulus(EventData):
    """One phase of the exerciser: applied, skipped, or cleaned up."""

    TYPE: ClassVar[str] = "foresail.stimulus.v1"
    WRITER: ClassVar[str] = "exerciser"
    PATTERN: ClassVar[tuple[str, ...]] = ("stimulus",)

    cycle: Cycle
    """Newest cycle when the phase was applied."""
    cluster_time_seconds: Seconds
    sequence: Count
    """Running number of the stimulus in this run."""
    status: Literal["applied", "skipped", "cleaned_up", "failed"]
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

    def key(self) -> str:
        """Return the running number and status."""
        return f"{self.sequence}-{self.status}"

    def line(self) -> str:
        """Return the phase and how far it is."""
        return f"phase {self.phase} {self.name} {self.status}: {self.text}"
