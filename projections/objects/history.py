"""A log's statements about one object: how it changed, what Kubernetes did to it, what we decided and did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from projections.figures import score
from projections.frame_states import FrameStates
from projections.incidents.history import LoggedReaction
from projections.objects.names import ObjectKind
from schemas.actions import Target, TargetKind
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.frames import FramedData
from schemas.observation import Observation
from schemas.outcome import Operation, OutcomeExecution, OutcomeVerification
from schemas.prediction import Prediction, PredictionShadow, prediction_table
from schemas.reaction import Reaction
from schemas.snapshot import AutoscalerState, SnapshotWorkloads
from schemas.tables import Table

OBJECT_SUBJECTS = (
    "snapshot.*",
    "observation",
    "prediction.risk",
    "decision",
    "outcome.execution",
    "outcome.verification",
    "reaction",
)
"""Subjects of the events that say something about objects."""
WATCHED = {
    ObjectKind.NODE: (
        ("nodes", "ready"),
        ("nodes", "schedulable"),
        ("nodes", "power_state"),
        ("nodes", "clock_scale_ratio"),
        ("nodes", "memory_scale_ratio"),
        ("nodes", "cpu_cap_ratio"),
        ("nodes", "memory_cap_ratio"),
    ),
    ObjectKind.POD: (
        ("pods", "phase"),
        ("pods", "status_message"),
    ),
    ObjectKind.WORKLOAD: (
        ("workloads", "wanted"),
        ("workloads", "ready"),
        ("workloads", "failed"),
        ("workloads", "suspended"),
    ),
}
"""By kind, the tables and columns of snapshots whose changes are remembered."""


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """A field of the object has another value than in the snapshot before."""

    field: str
    before: Any
    """None in the first snapshot that shows the object."""
    after: Any
    time_seconds: float
    """Cluster time of the snapshot."""
    seq: int
    cycle: int


@dataclass
class ObjectHistory:
    """The history of one object."""

    kind: ObjectKind
    name: str
    """Its full name."""
    workload: str = ""
    """Of an autoscaler the workload it scales; of a pod its owner, as soon as it is known."""
    changes: list[ObjectChange] = field(default_factory=list)
    row: dict[str, Any] = field(default_factory=dict)
    """Its row in the newest snapshot that has it."""
    autoscaler: AutoscalerState | None = None
    """Of an autoscaler its limits and conditions in the newest snapshot that has it."""
    seen_seconds: float | None = None
    """Cluster time of the newest snapshot that has it."""
    observed: dict[str, Any] = field(default_factory=dict)
    """Its row in the newest observation that has it."""
    reactions: list[LoggedReaction] = field(default_factory=list)
    executions: list[Event[OutcomeExecution]] = field(default_factory=list)
    verifications: dict[str, OutcomeVerification] = field(default_factory=dict)
    """By the execution's id."""
    losers: list[tuple[int, float, str]] = field(default_factory=list)
    """(cycle, cluster time, what was wanted) of proposals to act on it that lost."""
    node_cycles: dict[str, int] = field(default_factory=dict)
    """The cycle whose execution wrote a node last, by the node's name."""
    rationales: dict[int, str] = field(default_factory=dict)
    """Why each cycle was decided as it was."""
    risks: list[tuple[float, float, float | None, int]] = field(default_factory=list)
    """The active model's (cluster time, risk, threshold, position) of a node."""
    tables: dict[str, Table] = field(default_factory=dict)
    """Every table of the newest snapshot."""
    last_seconds: float = 0.0
    """The newest cluster time in the log."""
    unreadable: int = 0
    _states: FrameStates = field(default_factory=FrameStates)

    def add(self, event: Event[Any]) -> None:
        """Take one event of the log into account."""
        match event.data:
            case FramedData():
                self._add_frame(event)
            case Reaction() as reaction:
                self._add_reactions(reaction, event.seq)
            case Decision() as decision:
                self._add_decision(event, decision)
            case OutcomeExecution() as execution:
                if execution.succeeded and execution.mode == "active":
                    for operation in execution.operations:
                        if operation.resource == "nodes":
                            self.node_cycles[operation.name] = execution.cycle
                if self._concerns(execution):
                    self.executions.append(event)
            case OutcomeVerification() as verification:
                self.verifications[verification.execution_id] = verification
            case Prediction() as prediction:
                self._add_prediction(prediction, event.seq)
            case _:
                pass

    @property
    def is_gone(self) -> bool:
        """Whether the newest snapshot has it no more."""
        table = WATCHED[self._shown_as][0][0]
        return table in self.tables and self._table_name not in self.tables[table].index()

    @property
    def _shown_as(self) -> ObjectKind:
        """The kind of the rows that show it: an autoscaler is seen by what it scales."""
        return ObjectKind.WORKLOAD if self.kind is ObjectKind.HPA else self.kind

    @property
    def _table_name(self) -> str:
        return self.workload if self.kind is ObjectKind.HPA else self.name

    def _add_frame(self, event: Event[Any]) -> None:
        data: FramedData = event.data
        at = float(getattr(data, "cluster_time_seconds", 0.0))
        self.last_seconds = max(self.last_seconds, at)
        if self.kind is ObjectKind.HPA and isinstance(data, SnapshotWorkloads):
            states = (
                autoscaler for autoscaler in data.autoscalers if autoscaler.object == self.name
            )
            self.autoscaler = next(states, self.autoscaler)
        state = self._states.add(event)
        if state is None:
            return
        if isinstance(data, Observation):
            table = "pods" if self.kind is ObjectKind.POD else "nodes"
            self.observed = _row(state.tables[table], self.name) or self.observed
            return
        self.tables.update(state.tables)
        watched = WATCHED[self._shown_as]
        if watched[0][0] not in state.tables:
            return
        row = _row(state.tables[watched[0][0]], self._table_name)
        if row is None:
            return
        for _, column in watched:
            before = self.row.get(column)
            if not self.row or before != row[column]:
                self.changes.append(
                    ObjectChange(column, before, row[column], at, event.seq, data.cycle)
                )
        self.row, self.seen_seconds = row, at
        self.workload = self.workload or str(row.get("workload") or "")

    def _add_reactions(self, reaction: Reaction, seq: int) -> None:
        for item in reaction.reactions:
            places = {item.object, item.workload, item.node} - {""}
            if self.name in places or (self.kind is ObjectKind.HPA and self.workload in places):
                self.reactions.append(LoggedReaction(item, seq, reaction.cycle))
                if self.kind is ObjectKind.POD and item.object == self.name:
                    self.workload = self.workload or item.workload

    def _add_decision(self, event: Event[Decision], decision: Decision) -> None:
        self.rationales[event.cycle] = decision.rationale
        for proposal in decision.considered:
            wanted = proposal.kind != "noop" and self._is_target(proposal.target)
            if wanted and proposal.id not in decision.winners:
                text = f"{proposal.agent} wanted {proposal.kind}, score {score(proposal.score)}"
                self.losers.append((event.cycle, decision.cluster_time_seconds, text))

    def _concerns(self, execution: OutcomeExecution) -> bool:
        """Say whether an execution is aimed at the object, writes it, or moves its workload."""
        if self._is_target(execution.action.target):
            return True
        if self.name in execution.workloads or self.workload in {*execution.workloads} - {""}:
            return True
        return any(self._is_written_by(operation) for operation in execution.operations)

    def _is_target(self, target: Target) -> bool:
        """Say whether an action aims at the object; what aims at a workload concerns its autoscaler."""
        if target.kind is TargetKind.WORKLOAD:
            return target.name in {self.name, self._table_name}
        return self.kind is ObjectKind.NODE and target.name == self.name

    def _is_written_by(self, operation: Operation) -> bool:
        namespace, _, rest = self.name.rpartition("/") if "/" in self.name else ("", "", self.name)
        if operation.name != rest:
            return False
        if self.kind is ObjectKind.NODE:
            return operation.resource == "nodes"
        if self.kind is ObjectKind.POD:
            return operation.resource == "pods" and operation.namespace == namespace
        owner, _, kind = namespace.partition("/")
        return operation.resource == f"{kind.lower()}s" and operation.namespace == owner

    def _add_prediction(self, prediction: Prediction, seq: int) -> None:
        if self.kind is not ObjectKind.NODE or isinstance(prediction, PredictionShadow):
            return
        what, ids, ratios = prediction_table(prediction)
        if what != "risk" or prediction.status != "result" or self.name not in ids:
            return
        ratio = ratios[ids.index(self.name)]
        at = prediction.cluster_time_seconds
        self.risks.append((at, ratio, prediction.alarm_ratio, seq))


def _row(table: Table, name: str) -> dict[str, Any] | None:
    """Return a row by column; None when the table does not have it."""
    number = table.index().get(name)
    return None if number is None else dict(table.row(number))
