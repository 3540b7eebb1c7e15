"""What the mismatch checks remember of the log: a few numbers and the newest cycles, of bounded size."""

from __future__ import annotations

from pydantic import Field

from schemas.mismatch import Mismatch
from schemas.model import DataModel
from schemas.numbers import Count, Cycle, Rounded, Seconds

KEPT_CYCLES = 64
"""Newest decisions kept, with their rewards and what became of them."""
KEPT_TOTALS = 4
KEPT_STAGES = 16


class DecidedCycle(DataModel):
    """A decision, its reward and what became of it."""

    cycle: Cycle
    label: str
    """Its actions, as `AgentA:replicate`."""
    wants: bool
    repeats: Count
    """How many decisions in a row, this one included, were the same."""
    reward: Rounded | None = None
    """Observed total; None before it is known."""
    refused: Count = 0
    """Executions of it in mode active that were refused."""
    why: str = ""
    """Reason of the newest refusal."""
    finished: Count = 0
    """Executions of it in mode active that ended."""
    seen: Count = 0
    """Verifications that saw the wanted state."""
    unseen: Count = 0
    """Verifications that did not see it, or saw the cluster worse."""


class AppliedStimulus(DataModel):
    """The phase whose load is on."""

    name: str
    cycle: Cycle
    measure: str
    """`queue` or `requested CPU`: the number that it is to move."""
    before: Rounded
    """The lowest value in the cycles before it."""
    moved: bool = False


class CompletedStage(DataModel):
    """A stage that ended without a sample."""

    stage: str
    cycle: Cycle
    time_seconds: Seconds
    of_cluster: bool
    """Whether an observation would have been its sample."""


class MismatchTally(DataModel):
    """Everything that the checks rest on."""

    cycle: Cycle = 0
    """Newest cycle that was observed."""
    time_seconds: Seconds = 0.0
    observations: Count = 0
    begun: dict[str, Count] = {}
    """Observations there were when a stage began, by stage."""
    without_samples: CompletedStage | None = None
    snapshot_cycle: Cycle = 0
    snapshot_pods: tuple[Count, Count] | None = None
    """Pods in all and running, of the newest snapshot."""
    observed_pods: tuple[Count, Count] | None = None
    """The same of the newest observation."""
    pods_cycle: Cycle = 0
    """Cycle of both where they are of one and differ; 0: they agree."""
    queue: tuple[Count, ...] = ()
    """Queue lengths of the newest observations, oldest first."""
    cpu: tuple[Rounded, ...] = ()
    """Requested share of the cluster's CPU, likewise."""
    unready: tuple[str, ...] = ()
    """Nodes that should run and are not ready."""
    calm_cycles: Count = 0
    """Predictions in a row that gave such a node a low risk."""
    calm_risk: Rounded = 0.0
    """The lowest of these risks."""
    calm_node: str = ""
    stimulus: AppliedStimulus | None = None
    decided: tuple[DecidedCycle, ...] = ()
    """Oldest first."""
    standing: tuple[Mismatch, ...] = ()
    number: Count = Field(default=0)
    """Events so far."""
