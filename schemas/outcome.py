"""Layer 6, outcome: what was executed, whether it held, what it was worth, and how good the
predictions were.

Executions and verifications come from the executor, rewards and scored predictions from the
scoreboard. All carry the cycle of the decision they are about, so that one cycle tells its whole
story.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final, Literal

from pydantic import Field

from schemas.actions import Action, ActionKind, AgentName
from schemas.band_score import BandScore, band_text
from schemas.capacity_score import CapacityScore, capacity_score_text
from schemas.figures import duration, signed_score
from schemas.foresight_score import AheadScore, AheadTotals, ahead_text
from schemas.model import DataModel, EventData
from schemas.numbers import Count, Cycle, Rounded, Seconds
from schemas.reasons import Reason
from schemas.wording import count_text


class Mode(StrEnum):
    """The only switch between dry and real; it lives in the executor."""

    SHADOW = "shadow"
    """Every write goes to the API server with dryRun=All."""
    ACTIVE = "active"


class ExecutionPhase(StrEnum):
    """How far an execution is."""

    STARTED = "started"
    """The plan is stored; nothing has been written yet."""
    FINISHED = "finished"
    REFUSED = "refused"
    """A guard rail or re-validation said no; nothing was or will be written."""


class Verb(StrEnum):
    """Verb of an operation at the API server."""

    PATCH = "patch"
    TAINT = "taint"
    """Single taints of a node, whatever else its list holds."""
    SCALE = "scale"
    RESIZE = "resize"
    """Amounts of a running pod's containers, through its resize subresource."""
    RUN = "run"
    """A command of the operator's, which hands a machine back or wakes it."""
    CREATE = "create"
    """An object of our own, which its undo deletes."""
    EVICT = "evict"
    DELETE = "delete"


class Operation(DataModel):
    """One write, stated as an absolute end: doing it twice is doing it once."""

    verb: Verb
    resource: str
    """Plural API name: `nodes`, `deployments`, `jobs`, `pods`, `nodeclaims`,
    `resourcequotas`."""
    namespace: str = ""
    name: str
    uid: str = ""
    """The object must still have this UID."""
    resource_version: str = ""
    """The object must still have this version (409 otherwise); empty where the end is absolute
    anyway.
    """
    replicas: Count | None = None
    """scale: the number wanted."""
    patch: str = ""
    """patch: the JSON merge patch, canonical; resize: the amounts, as a strategic merge patch;
    run: the program and its arguments, as a JSON list; create: the object; taint: the taints to `add`
    and to `remove`."""
    undo: str = ""
    """The patch of the same kind that takes it back; empty when it cannot be taken back."""
    text: str
    """One line for people."""


class OperationResult(DataModel):
    """Answer of the API server to one operation."""

    status: Literal["applied", "unchanged", "refused", "failed"]
    reason: Reason | None = None
    http_status: int | None = None
    message: str = ""
    resource_version: str = ""


class GuardCheck(DataModel):
    """One guard rail with the measured value and its limit."""

    guard: str
    """Name of the guard rail, e.g. `cool_down`, `budget`, `cap_per_node`."""
    passed: bool
    measured: Rounded | None = None
    limit: Rounded | None = None
    unit: str = ""
    reason: Reason | None = None
    text: str = ""


class OutcomeExecution(EventData):
    """An execution: started with its plan, then finished; or refused."""

    TYPE: ClassVar[str] = "foresail.outcome.execution.v1"
    WRITER: ClassVar[str] = "executor"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "execution")

    cycle: Cycle
    cluster_time_seconds: Seconds
    decision_id: str
    phase: ExecutionPhase
    mode: Mode
    action: Action
    operations: tuple[Operation, ...] = ()
    direction: str = ""
    """Which way the target is moved (up, move, limit, off, on, open, close); opposite ones undo
    each other.
    """
    workloads: tuple[str, ...] = ()
    """Workloads that are changed or moved, `<namespace>/<kind>/<name>`."""
    missing_replicas: dict[str, Count] = {}
    """Of Deployments whose pods are moved: replicas wanted but not ready when the plan was made."""
    results: tuple[OperationResult, ...] = ()
    """Finished: one per operation, in order."""
    succeeded: bool | None = None
    """Finished: every operation is applied or unchanged."""
    guards: tuple[GuardCheck, ...] = ()
    reason: Reason | None = None
    text: str
    rollback_of: str = ""
    """Id of the execution that this one takes back."""
    part: Count = 0
    """Which part of the decision it executes, from 0."""
    means: str = Field(default="", exclude_if=lambda named: not named)
    """By which of several means an action is done (`resize`, `taint`); empty where there is one only."""
    retry: Count = Field(default=0, exclude_if=lambda count: not count)
    """A rollback: how often it was tried before and some of it could not be taken back."""

    def key(self) -> str:
        """Return the phase, whether it is a rollback and which try, and the part unless it is the first."""
        phase = f"rollback-{self.phase}" if self.rollback_of else str(self.phase)
        phase = f"{phase}-retry-{self.retry}" if self.retry else phase
        return f"{phase}-{self.part}" if self.part else phase

    @property
    def result(self) -> str:
        """What became of a decision, in a few words."""
        if self.reason is Reason.NOOP:
            return "nothing to do"
        match self.phase:
            case ExecutionPhase.REFUSED:
                return f"not executed ({self.reason})"
            case ExecutionPhase.STARTED:
                return f"executing {count_text(len(self.operations), 'operation')}"
            case _:
                done = "done" if self.succeeded else "failed"
                return f"{done} ({self.mode}, {count_text(len(self.operations), 'operation')})"

    def line(self) -> str:
        """Return the cycle, with the part as `undo` names it, and what became of it."""
        return f"cycle {_place(self.cycle, self.part)}: {self.result}: {self.text}"


class VerificationStatus(StrEnum):
    """Statement of the following snapshots about an execution."""

    VERIFIED = "verified"
    FAILED = "failed"
    """The wanted state was not there within the window."""
    WORSE = "worse"
    """The cluster got worse in the way this action can cause."""
    GONE = "gone"
    """What was written no longer exists, so nothing is left that could show the wanted state."""
    UNVERIFIABLE = "unverifiable"


class OutcomeVerification(EventData):
    """Whether the wanted state was seen in later observations."""

    TYPE: ClassVar[str] = "foresail.outcome.verification.v1"
    WRITER: ClassVar[str] = "executor"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "verification")

    cycle: Cycle
    """Cycle of the decision."""
    cluster_time_seconds: Seconds
    decision_id: str
    execution_id: str
    observed_cycle: Cycle
    """Cycle of the observation that settled it."""
    status: VerificationStatus
    checks: tuple[GuardCheck, ...]
    lag_seconds: Seconds
    """Cluster time from the execution to the observation that settled it."""
    reason: Reason | None = None
    text: str
    part: Count = 0
    """Which part of the decision was executed, from 0."""

    def key(self) -> str:
        """Return the part; empty for the first."""
        return str(self.part) if self.part else ""

    def line(self) -> str:
        """Return the cycle, with the part as `undo` names it, and what was seen when."""
        after = duration(self.lag_seconds)
        return f"cycle {_place(self.cycle, self.part)}: {self.status} after {after}: {self.text}"


def _place(cycle: int, part: int) -> str:
    return f"{cycle}.{part}" if part else str(cycle)


class RewardPart(DataModel):
    """One term of an agent's reward."""

    agent: AgentName
    term: str
    """Name of the rule, e.g. `base`, `sla_penalty`, `efficiency_low_demand`."""
    amount: Rounded
    text: str = ""


class AgentRewards(DataModel):
    """Rewards by agent, unweighted, and their weighted total."""

    by_agent: dict[AgentName, Rounded]
    """In the order of the agents' letters."""
    total: Rounded
    """Sum of each agent's reward times its weight."""


class OutcomeReward(EventData):
    """Reward of a decision: computed from the observed next snapshots, next to what was
    predicted.
    """

    TYPE: ClassVar[str] = "foresail.outcome.reward.v2"
    WRITER: ClassVar[str] = "scoreboard"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "reward")

    cycle: Cycle
    cluster_time_seconds: Seconds
    decision_id: str
    observed_cycle: Cycle | None
    """Cycle whose observation gave the reward; None when none came in time."""
    action_kind: ActionKind
    selected_agent: AgentName | None
    scale: str
    """Name and version of the one score scale, the same for every policy, e.g. `seed-rewards/1`."""
    weights: dict[AgentName, Rounded]
    """Weight of each agent's reward in the total; exactly the agents that are rewarded."""
    observed: AgentRewards | None
    predicted: AgentRewards
    observed_parts: tuple[RewardPart, ...]
    predicted_parts: tuple[RewardPart, ...]
    mean_total: Rounded
    """Running mean of the observed totals of this run."""
    scored: Count
    """How many decisions that mean covers."""
    reason: Reason | None = None

    def line(self) -> str:
        """Return what was observed beside what was predicted."""
        observed = "not observed" if self.observed is None else signed_score(self.observed.total)
        return f"cycle {self.cycle}: {observed}, predicted {signed_score(self.predicted.total)}"


class RunningScore(DataModel):
    """One model's score since the run began, over every certain target."""

    targets: Count
    positives: Count = 0
    brier: Rounded | None = None
    hits: Count = 0
    misses: Count = 0
    false_alarms: Count = 0
    lead_seconds: Seconds | None = None
    pinball_ratio: Rounded | None = None


class ForecastScore(DataModel):
    """How one kind of prediction did on one cycle's targets."""

    targets: Count
    """Targets whose outcome is certain."""
    uncertain: Count
    """Targets that were acted upon; never used as plain labels."""
    positives: Count = 0
    """Risk: targets that did fail."""
    brier: Rounded | None = None
    """Risk: mean squared difference of risk and outcome (0 is perfect)."""
    mean_error_ratio: Rounded | None = None
    """Demand: mean of observed minus predicted."""
    mean_absolute_error_ratio: Rounded | None = None
    hits: Count | None = None
    """Risk: targets at or above the alarm's threshold that did fail; None without a threshold."""
    misses: Count | None = None
    """Risk: targets below it that did fail."""
    false_alarms: Count | None = None
    """Risk: targets at or above it that did not fail."""
    lead_seconds: Seconds | None = None
    """Risk: mean cluster time from the prediction to the first failure seen, over the hits."""
    pinball_ratio: Rounded | None = None
    """Demand with a quantile: mean pinball loss; half the absolute error at quantile 0.5."""
    running: RunningScore | None = None
    """The same over everything that this model was scored on so far."""


MINUTE_BANDS_ID: Final = "demand-bands/1"
"""The simple rules of each minute, which are scored as one model."""


class OutcomeForecast(EventData):
    """Predictions scored when their horizon has passed."""

    TYPE: ClassVar[str] = "foresail.outcome.forecast.v1"
    WRITER: ClassVar[str] = "scoreboard"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "forecast")

    cycle: Cycle
    """Cycle of the prediction."""
    cluster_time_seconds: Seconds
    observed_cycle: Cycle
    model_id: str
    horizon_seconds: Seconds
    risk: ForecastScore | None
    """None: skipped, not stored before the horizon ended, or scored on its own (see `part`)."""
    demand: ForecastScore | None
    """None: as for `risk`."""
    uncertain_targets: tuple[str, ...] = ()
    reason: Reason | None = None
    slot: Count = 0
    """0: the active models; otherwise the shadow model's place in the settings."""
    part: Literal["", "risk", "demand", "bands", "capacity", "action"] = ""
    """Which of the cycle's predictions this is about, where their horizons differ; `bands` by horizon, `capacity`
    by the cycle in which it was seen, `action` by the part of the cycle's decision that rested on a forecast.
    """
    demand_model_id: str = ""
    """The model of the demand, where it is another one than `model_id`."""
    bands: BandScore | None = Field(default=None, exclude_if=lambda bands: bands is None)
    """Bands of demand: how they did in this minute or step."""
    bands_so_far: BandScore | None = Field(default=None, exclude_if=lambda bands: bands is None)
    """The same over every one scored so far at this horizon, by this model."""
    capacity: CapacityScore | None = Field(default=None, exclude_if=lambda score: score is None)
    """What replicas bear: how it did in the windows that ended with the observed cycle."""
    action: AheadScore | None = Field(default=None, exclude_if=lambda score: score is None)
    """What came of an action that rested on a forecast of this model."""
    actions_so_far: AheadTotals | None = Field(default=None, exclude_if=lambda sums: sums is None)
    """The same of all that are over."""
    decision_part: Count = Field(default=0, exclude_if=lambda part: not part)
    """Which part of the decision it was."""
    capacity_so_far: CapacityScore | None = Field(default=None, exclude_if=lambda one: one is None)
    """The same over every window so far."""

    def key(self) -> str:
        """Return the shadow model's slot or the part, of bands with horizon and model; empty for both active models."""
        if self.part == "bands":
            by = "" if self.model_id == MINUTE_BANDS_ID else f"-{self.model_id}"
            return f"bands-{self.horizon_seconds:g}{by}"
        if self.part == "action":
            return f"action-{self.decision_part}"
        if self.part == "capacity":
            return f"capacity-{self.observed_cycle}"
        return str(self.slot) if self.slot else self.part

    def line(self) -> str:
        """Return of how many targets the predictions were scored."""
        scored = [
            f"{name} of {score.targets} targets ({score.uncertain} uncertain)"
            for name, score in (("risk", self.risk), ("demand", self.demand))
            if score is not None
        ]
        scored += [] if self.bands is None else [band_text(self.horizon_seconds, self.bands)]
        scored += [] if self.action is None else [ahead_text(self.action)]
        if self.capacity_so_far is not None:
            scored.append(capacity_score_text(self.capacity_so_far))
        return f"cycle {self.cycle}: {self.model_id} {'; '.join(scored) or 'not scored'}"
