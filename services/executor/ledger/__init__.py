"""State of the executor: decisions that wait, what was executed and how it went. Pure, and part
of the log.
"""

from __future__ import annotations

from pydantic import Field

from schemas.actions import Action, ActionKind
from schemas.breaker import WHOLE, Breaker
from schemas.capabilities import MissingCapability
from schemas.model import DataModel
from schemas.numbers import Count, Cycle, Rounded, Seconds
from schemas.outcome import ExecutionPhase, Mode, Operation
from services.executor.ledger.work import WorkCounts

Place = tuple[Cycle, Count]
"""A cycle, and the part of its decision."""


class PendingDecision(DataModel):
    """A part of a decision without an execution."""

    cycle: Cycle
    part: Count = 0
    decision_id: str
    observation_id: str
    action: Action
    score: Rounded
    cluster_time_seconds: Seconds

    @property
    def place(self) -> Place:
        """Its cycle and part."""
        return self.cycle, self.part


class Execution(DataModel):
    """One execution and how far it is."""

    cycle: Cycle
    part: Count = 0
    decision_id: str
    execution_id: str
    """Id of the newest event about it."""
    phase: ExecutionPhase
    mode: Mode
    action: Action
    score: Rounded
    operations: tuple[Operation, ...]
    direction: str
    namespaces: tuple[str, ...]
    workloads: tuple[str, ...]
    missing_replicas: dict[str, Count] = {}
    """By Deployment that is moved: replicas wanted but not ready when the plan was made."""
    means: str = Field(default="", exclude_if=lambda named: not named)
    """By which of several means it was done."""
    time_seconds: Seconds
    """Cluster time at which it started."""
    succeeded: bool | None = None
    verified: bool = False
    worse: bool = False
    """Verification saw the cluster get worse."""
    half_done: bool = Field(default=False, exclude_if=lambda half: not half)
    """A part of it was written that can be taken back, and nothing that cannot."""
    rollback_id: str = ""
    """Id of the stored plan that takes it back."""
    rolled_back: bool = False
    """Taking it back has ended, well or not."""
    rollback_failed: bool = Field(default=False, exclude_if=lambda failed: not failed)
    """Some of it could not be taken back."""
    rollbacks_failed: Count = Field(default=0, exclude_if=lambda count: not count)
    """How often that was so before the operator asked once more."""
    exercised: bool = Field(default=False, exclude_if=lambda practice: not practice)
    """It was taken back at the end of the exerciser's phase: practice, which counts for no guard rail."""
    pressure: int = 0
    """Pods pending for lack of capacity when it was decided."""

    @property
    def place(self) -> Place:
        """Its cycle and part."""
        return self.cycle, self.part


class ClusterSummary(DataModel):
    """Summary of the newest observation about the whole cluster."""

    id: str = ""
    cycle: Cycle = 0
    cluster_time_seconds: Seconds = 0.0
    nodes: int = 0
    nodes_available: int = 0
    """Ready and schedulable."""
    pressure: int = 0
    """Pods pending for lack of capacity."""
    pods_running: int = 0
    nodes_unready: int = Field(default=0, exclude_if=lambda count: not count)
    steady_since_seconds: Seconds | None = Field(default=None, exclude_if=lambda time: time is None)
    """Since when every observation was whole and followed the one before it; None: the newest was not."""


class Ledger(DataModel):
    """The executor's state."""

    seen: ClusterSummary = ClusterSummary()
    looks: tuple[WorkCounts, ...] = ()
    """What the newest observations count of work, oldest first."""
    due: tuple[PendingDecision, ...] = ()
    executions: tuple[Execution, ...] = ()
    """Started or finished, oldest first; refused ones are not kept."""
    killed: bool = False
    paused: bool = False
    mode: Mode | None = None
    """Set by the operator; None: as the settings say."""
    undo: tuple[Cycle, ...] = ()
    """Cycles of which the operator wants every part taken back."""
    undo_parts: tuple[Place, ...] = ()
    """Single parts that the operator wants taken back."""
    undo_until: Cycle | None = Field(default=None, exclude_if=lambda cycle: cycle is None)
    """The operator wants everything taken back that was decided up to this cycle."""
    exercised: tuple[Cycle, Cycle] | None = Field(
        default=None, exclude_if=lambda cycles: cycles is None
    )
    """First and last cycle of what is taken back, and not begun any more, since it belongs to no phase of the
    exerciser that goes on."""
    replayed: bool = False
    """The log is a replay."""
    breakers: tuple[Breaker, ...] = Field(default=(), exclude_if=lambda standing: not standing)
    """Those that are not closed."""
    missing_means: tuple[MissingCapability, ...] = Field(
        default=(), exclude_if=lambda missing: not missing
    )
    """Kinds of action that cannot be done, as this process said last."""

    def in_exercise(self, cycle: Cycle) -> bool:
        """Say whether what was decided in a cycle belongs to a phase that the exerciser ends or has ended."""
        first, last = self.exercised or (1, 0)
        return first <= cycle <= last

    def breakers_of(self, kind: ActionKind) -> tuple[Breaker, ...]:
        """Return the breakers that are not closed and hold a kind of action; that of everything first."""
        return tuple(one for one in self.breakers if one.unit in (WHOLE, kind))
