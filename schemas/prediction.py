"""Layer 3, prediction: failure risk and demand, with horizon, quantile, model id and why. Published
by inference.

Exactly one of each per cycle: a result, or `skipped` with the reason. Shadow models, which drive
nothing, speak on subjects of their own, `prediction.shadow.<slot>`, so that whoever acts cannot
mistake them.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from schemas.figures import number
from schemas.model import DataModel, EventData
from schemas.numbers import Count, Cycle, Ratio, Rounded, Seconds
from schemas.reasons import Reason
from schemas.signals import SignalStatus
from schemas.tables import Table

ABSTAINS: Final = "-"
"""Letter of a node on which nothing speaks for a failure, in `grounds` of a prediction."""
SHADOW_SLOTS = 3
"""Shadow models that one process can run beside the active ones."""


class RiskTable(Table):
    """Failure risk by node; `ids` are node names."""

    risk_ratio: tuple[Ratio, ...] = ()
    """Probability (or the baseline's score) that the node's workloads fail within the horizon."""


class DemandTable(Table):
    """Demand by node; `ids` are node names."""

    demand_ratio: tuple[Ratio, ...] = ()
    """Predicted demand / allocatable."""


class BandTable(Table):
    """Bands of demand; `ids` are series: `service/<namespace>/<name>` in requests a second, `nodes/all` and
    `nodes/<cores>-cores-<GiB>-gib`, machines of one size, in cores requested.
    """

    MAY_BE_EMPTY: ClassVar[frozenset[str]] = frozenset({"lowest", "highest"})

    newest: tuple[Rounded, ...] = ()
    """Mean of the newest whole minute, or step."""
    low: tuple[Rounded, ...] = ()
    """One value in ten is expected below."""
    middle: tuple[Rounded, ...] = ()
    high: tuple[Rounded, ...] = ()
    """One value in ten is expected above."""
    lowest: tuple[Rounded, ...] = Field(default=(), exclude_if=lambda column: not column)
    """One value in twenty is expected below; empty where the simple rules of each minute speak."""
    highest: tuple[Rounded, ...] = Field(default=(), exclude_if=lambda column: not column)
    """One value in twenty is expected above; empty as `lowest` is."""
    rule: tuple[str, ...] = ()
    """What the middle rests on: `last_value` (the newest minute stays), `trend` or `daily`."""
    basis: tuple[str, ...] = ()
    """Whose errors made the band: its `own`, those of `similar` series while it is new, a guess (`assumed`) while
    there are none, or `drift`: it left its band too often, so the simple rule `last_value` speaks.
    """


MINUTE_SECONDS: Final = 60.0


def nodes_series(cores: float, memory_bytes: float) -> str:
    """Return the series of machines of one size."""
    return f"nodes/{cores:.6g}-cores-{memory_bytes / 2**30:.6g}-gib"


class DemandBands(DataModel):
    """Mean demand of the step that ends one horizon after the newest whole one, by series."""

    horizon_seconds: Seconds
    end_time_seconds: Seconds
    """When that step ends."""
    step_seconds: Seconds = Field(
        default=MINUTE_SECONDS, exclude_if=lambda seconds: seconds == MINUTE_SECONDS
    )
    """Length of the step: a minute, or five where a trained model foresees them."""
    series: BandTable

    @property
    def is_of_a_minute(self) -> bool:
        """Whether the simple rules of each minute made them, no trained model."""
        return self.step_seconds == MINUTE_SECONDS


class Contribution(DataModel):
    """How much one feature added to one prediction."""

    target: str
    """A node; `<node>|<workload>` where the model judges each workload on a node."""
    feature: str
    value: Rounded | None
    """The feature's value; None when it is missing."""
    contribution: Rounded
    """In `contributions_unit` of the prediction."""


class FeatureSource(DataModel):
    """Where some of a model's features came from, and how old that was."""

    name: str
    """What they were made from: a signal of the observation."""
    status: SignalStatus
    """`fresh`; features of a stale or missing source were given to the model as missing."""
    age_seconds: Seconds | None
    features: Count
    """How many of the model's features come from it."""


class Prediction(EventData):
    """Common fields of both predictions."""

    cycle: Cycle
    cluster_time_seconds: Seconds
    status: Literal["result", "skipped"]
    reason: Reason | None = None
    model_id: str
    """`seed-formula/1`, or a trained model's name and version."""
    horizon_seconds: Seconds
    quantile: Ratio | None = None
    """The quantile predicted; None for a point estimate."""
    features_hash: str
    """SHA-256 of the feature columns that the model read."""
    calibrated: bool
    """True when values are probabilities checked at the true base rate."""
    contributions: tuple[Contribution, ...] = ()
    """For targets above the lowest action threshold, at most 20."""
    contributions_unit: Literal["prediction", "log_odds"] = "prediction"
    """`log_odds`: they add up before the model's last step turns them into a probability."""
    feature_sources: tuple[FeatureSource, ...] = ()
    """Trained models: the age of what they read; empty for a formula, whose ages the observation
    states.
    """
    alarm_ratio: Rounded | None = None
    """The lowest action threshold: a risk from here on (a demand below it) can lead to an action.
    """
    failure: Literal["unhealthy", "attempt_failed"] = "unhealthy"
    """Risk: what it foresees. `unhealthy`: the node not ready, or a pod on it unhealthy.
    `attempt_failed`: a pod on it Failed, or a container of one ended with an error.
    """
    grounds: str = Field(default="", exclude_if=lambda grounds: not grounds)
    """Risk by a trained model: a letter for each row of the table, what has failed lately that resembles what runs
    there: `w` the same workload, `o` another one of its owner (where that is a part of the cluster), `m` something else
    on the machine, `-` nothing. There the model abstains: its number is a rate of first failures and no alarm.
    """
    demand: Literal["requested_load", "peak_use"] = "requested_load"
    """Demand: what it foresees. `requested_load`: the baseline's load of the requests when the horizon
    ends. `peak_use`: the greatest use of CPU or memory within it, requests where nothing is measured.
    """

    def line(self) -> str:
        """Return the model with the nodes of which it says most, or why it says nothing."""
        what, ids, ratios = prediction_table(self)
        if self.status == "skipped":
            return f"{self.model_id} skipped: {self.reason}"
        if not ids:
            return f"{self.model_id}: no nodes"
        pairs = nsmallest(3, zip(ratios, ids, strict=True), key=lambda pair: (-pair[0], pair[1]))
        highest = ", ".join(f"{name} {number(ratio)}" for ratio, name in pairs)
        return f"{self.model_id}: highest {what} {highest}"


def prediction_table(prediction: Prediction) -> tuple[str, tuple[str, ...], tuple[float, ...]]:
    """Return what a prediction is about (`risk` or `demand`), its nodes and their ratios."""
    for _, table in prediction:
        for name in ("risk", "demand"):
            ratios = getattr(table, f"{name}_ratio", None)
            if isinstance(table, Table) and ratios is not None:
                return name, table.ids, ratios
    return "", (), ()


class PredictionRisk(Prediction):
    """Failure risk by node."""

    TYPE: ClassVar[str] = "foresail.prediction.risk.v1"
    WRITER: ClassVar[str] = "inference"
    PATTERN: ClassVar[tuple[str, ...]] = ("prediction", "risk")

    nodes: RiskTable


class PredictionDemand(Prediction):
    """Demand by node."""

    TYPE: ClassVar[str] = "foresail.prediction.demand.v1"
    WRITER: ClassVar[str] = "inference"
    PATTERN: ClassVar[tuple[str, ...]] = ("prediction", "demand")

    nodes: DemandTable
    bands: tuple[DemandBands, ...] = Field(default=(), exclude_if=lambda bands: not bands)
    """By horizon, shortest first; only in cycles that ended a minute, and where `inference.demand_bands` is on."""


class PredictionShadow(Prediction):
    """Prediction of a model that drives nothing: risk or demand, by node.

    In a large cluster an evenly spaced sample of the nodes, sorted by name.
    """

    TYPE: ClassVar[str] = "foresail.prediction.shadow.v1"
    WRITER: ClassVar[str] = "inference"
    PATTERN: ClassVar[tuple[str, ...]] = ("prediction", "shadow", "*")

    @classmethod
    def patterns_of(cls, writer: str) -> tuple[tuple[str, ...], ...]:
        """Return the subject of each slot."""
        del writer
        slots = range(1, SHADOW_SLOTS + 1)
        return tuple((*cls.PATTERN[:-1], str(slot)) for slot in slots)

    slot: int = Field(ge=1, le=SHADOW_SLOTS)
    """Place of the model in the settings, from 1; part of the subject."""
    nodes: Count
    """Nodes predicted; the table may hold a sample of them."""
    risk_table: RiskTable | None = None
    demand_table: DemandTable | None = None

    @model_validator(mode="after")
    def _one_table(self) -> Self:
        if (self.risk_table is None) is (self.demand_table is None):
            raise ValueError("a shadow prediction holds either risk or demand")
        return self

    def tokens(self) -> tuple[str, ...]:
        """Return `prediction.shadow.<slot>`."""
        return ("prediction", "shadow", str(self.slot))

    def key(self) -> str:
        """Return the slot."""
        return str(self.slot)
