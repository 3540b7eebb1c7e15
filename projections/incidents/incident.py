"""Parts of an incident: marks of damage, steps with their lags, waits by class."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from pydantic import Field

from schemas.model import DataModel


class Lane(StrEnum):
    """Who did it, in the order in which the lanes are drawn."""

    DEMAND = "demand"
    NODE = "node"
    PREDICTION = "prediction"
    AUTOSCALER = "autoscaler"
    """HorizontalPodAutoscalers, and whoever adds and removes nodes."""
    CONTROLLER = "controller"
    """Deployments, Jobs and their users: how many pods are wanted."""
    SCHEDULER = "scheduler"
    KUBELET = "kubelet"
    FORESAIL = "foresail"
    UNTOUCHED = "untouched"
    """What happened in the same world left alone."""


class DamageKind(StrEnum):
    """Kinds of visible damage."""

    NODE_DOWN = "node_down"
    SHORT = "short"
    """An autoscaler found that too few pods run."""
    WAITING = "waiting"
    """A pod waits for a node."""
    FAILING = "failing"
    """Pods fail or restart one after the other."""
    REQUESTS = "requests"
    """More requests of a Service fail than its objective allows."""
    UNTOUCHED_REQUESTS = "untouched_requests"
    """So they do in the untouched world."""


class IncidentKind(StrEnum):
    """Kinds of incidents."""

    NODE_FAILURE = "node_failure"
    HPA_LAG = "hpa_lag"
    UNSCHEDULABLE_BURST = "unschedulable_burst"
    PODS_WAITING = "pods_waiting"
    FAILING_PODS = "failing_pods"
    RISE_FORESEEN = "rise_foreseen"
    """Demand for which replicas were asked for before it rose."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that went wrong, for a time, at some places."""

    kind: DamageKind
    begin_seconds: float
    """Cluster time."""
    end_seconds: float | None
    """None: still going on at the end of the log."""
    places: frozenset[str]
    """Nodes, workloads, and `class:<pending class>` for waits."""
    subject: str = ""
    """The node, the pod or the workload."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One thing that happened, before it is grouped into steps."""

    time_seconds: float
    lane: Lane
    kind: str
    text: str
    seq: int
    cycle: int
    lag_seconds: float | None = None
    since: str = ""
    workload: str = ""
    nodes: tuple[str, ...] = ()
    group: str = ""
    """Occurrences of one group, without a long pause between them, become one step."""
    detail: str = ""
    """What differs within a group; `{details}` in the text stands for all of them."""
    damage: bool = False


class Step(DataModel):
    """One link of the chain: one thing, or several of one kind."""

    lane: Lane
    kind: str
    time_seconds: float
    """Cluster time of the first."""
    until_seconds: float
    """Cluster time of the last."""
    count: int
    since_begin_seconds: float
    """Time from the incident's beginning to the first; negative before it."""
    lag_median_seconds: float | None
    """Median of the lags that the events state themselves."""
    lag_max_seconds: float | None
    lag_since: str
    """What those lags are counted from."""
    text: str
    damage: bool
    """Whether this is visible damage."""
    seq: int
    """Position of the first event in the log."""
    cycle: int


class WaitGroup(DataModel):
    """How long pods waited for one class of reason."""

    pending_class: str
    pods: int
    median_seconds: float
    max_seconds: float
    still_waiting: int


class DamagePeriod(DataModel):
    """One damage, as it is drawn."""

    kind: DamageKind
    subject: str
    pending_class: str
    begin_seconds: float
    end_seconds: float | None


class Alarm(DataModel):
    """The first time that a model said so."""

    model_id: str
    shadow: bool
    node: str
    """Empty where demand was foreseen."""
    value: float
    threshold: float
    time_seconds: float
    lead_seconds: float | None
    """First visible damage minus this time; None when it had stood there for longer than the
    look-back, and so announced nothing.
    """
    seq: int
    service: str = Field(default="", exclude_if=lambda name: not name)
    """Whose requests were foreseen, in requests a second."""


class Curve(DataModel):
    """Numbers over time, drawn above the lanes."""

    name: str
    unit: str
    times_seconds: tuple[float, ...]
    values: tuple[float, ...]


class ActingChange(DataModel):
    """Effect of acting in the cycles of an incident; effects of earlier actions are in it, too."""

    verdict: Literal["helps", "harms", "no difference"]
    money: float
    """This world minus the untouched one."""
    currency: str
    text: str


class Incident(DataModel):
    """One incident with its chain."""

    number: int
    kind: IncidentKind
    begin_seconds: float
    """When demand rose, or else the first visible damage."""
    damage_seconds: float
    """The first visible damage."""
    end_seconds: float | None
    """When the last damage was over; None while it goes on."""
    last_seconds: float
    """The newest cluster time in the log."""
    nodes: tuple[str, ...]
    workloads: tuple[str, ...]
    steps: tuple[Step, ...]
    waits: tuple[WaitGroup, ...]
    spans: tuple[DamagePeriod, ...]
    alarms: tuple[Alarm, ...]
    """One for each model, the active one first."""
    curves: tuple[Curve, ...] = ()
    acting: ActingChange | None = None
    """None where no untouched world was compared in that time."""

    @property
    def lead_seconds(self) -> float | None:
        """The active model's lead over the first visible damage; None when it gave no warning."""
        active = [alarm for alarm in self.alarms if not alarm.shadow]
        return active[0].lead_seconds if active else None


@dataclass(slots=True)
class DamageGroup:
    """An incident before its chain is built: damages that belong together."""

    damages: list[Damage]
    places: set[str] = field(default_factory=set)

    @property
    def begin_seconds(self) -> float:
        """The first visible damage."""
        return min(damage.begin_seconds for damage in self.damages)

    @property
    def end_seconds(self) -> float | None:
        """When the last damage was over; None while one goes on."""
        ends = [damage.end_seconds for damage in self.damages]
        known = [end for end in ends if end is not None]
        return max(known) if len(known) == len(ends) else None

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes among its places."""
        return tuple(
            sorted(place for place in self.places if "/" not in place and ":" not in place)
        )

    @property
    def workloads(self) -> tuple[str, ...]:
        """Workloads among its places."""
        return tuple(sorted(place for place in self.places if "/" in place))
