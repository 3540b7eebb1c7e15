"""One execution as the ledger keeps it. Pure, and part of the log."""

from __future__ import annotations

from pydantic import Field

from schemas.actions import Action
from schemas.left_behind import LeftBehind, LeftBehindAnswer, OutcomeLeftBehind
from schemas.model import DataModel
from schemas.numbers import Count, Cycle, Rounded, Seconds
from schemas.outcome import ExecutionPhase, Mode, Operation
from services.executor.pending import Place


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
    pressure: int = 0
    """Pods pending for lack of capacity when it was decided."""
    approved_cycle: Cycle | None = Field(default=None, exclude_if=lambda cycle: cycle is None)
    """The newest cycle when a person approved it; None: nobody was asked."""
    left_behind: LeftBehindAnswer | None = Field(
        default=None, exclude_if=lambda answer: answer is None
    )
    """Of what an earlier stack did: what becomes of it; None: this stack did it."""

    @property
    def place(self) -> Place:
        """Its cycle and part."""
        return self.cycle, self.part

    @property
    def begun_cycle(self) -> Cycle:
        """The cycle from which its effects are waited for."""
        return self.cycle if self.approved_cycle is None else self.approved_cycle


def left_execution(event_id: str, data: OutcomeLeftBehind, left: LeftBehind) -> Execution:
    """Return what an earlier stack left as an execution that is over, so that it can be taken back."""
    return Execution(
        cycle=data.cycle,
        part=left.part,
        decision_id=left.decision_id,
        execution_id=event_id,
        phase=ExecutionPhase.FINISHED,
        mode=Mode.ACTIVE,
        action=left.action,
        score=0.0,
        operations=left.operations,
        direction=left.direction,
        namespaces=tuple(dict.fromkeys(one.namespace for one in left.operations if one.namespace)),
        workloads=(),
        means=left.means,
        time_seconds=data.cluster_time_seconds,
        succeeded=True,
        verified=True,
        left_behind=data.answer,
    )
