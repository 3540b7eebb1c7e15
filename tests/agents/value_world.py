"""A small scripted world for policies by expected value: Services with a rate and a capacity, and machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas.actions import ReplicateAction
from schemas.capacity import CapacityTable, PredictionCapacity
from schemas.envelope import Event
from schemas.model import EventData
from schemas.observation import ObservedServices
from schemas.occupancy import Occupancy
from schemas.prediction import DemandBands, PredictionDemand
from schemas.proposal import Proposal
from schemas.tables import table_of
from schemas.view import ObservationView
from schemas.work import LATENCY_BOUNDS, ServiceCounters, WorkCounters
from services.agents.service import AgentHandler, build
from services.agents.settings import AgentSettings
from tests.builders import ORIGIN, START_SECONDS, make_observation, make_prediction, stamp_event

STEP_SECONDS = 15.0
SLOW = LATENCY_BOUNDS.index(0.5)


@dataclass
class ScriptedService:
    """A Service whose every request beyond `bears` a second and replica is slow."""

    rate: float
    wanted: int = 4
    bears: float = 10.0
    ready: int | None = None
    """None: as many as wanted."""
    least: int = 0
    most: int = 0
    served: float = 0.0
    in_time: float = 0.0
    lost: float = 0.0
    lost_ratio: float = 0.0
    """Share of its requests that are lost with a machine."""
    refused: float = 0.0
    refused_ratio: float = 0.0
    """Share of its requests for which no pod is ready."""
    slow_ratio: float = 0.0
    """Share of its requests that are slow however many replicas there are."""

    def step(self) -> None:
        """Serve for one step."""
        self.lost += self.lost_ratio * self.rate * STEP_SECONDS
        self.refused += self.refused_ratio * self.rate * STEP_SECONDS
        requests = (1.0 - self.lost_ratio - self.refused_ratio) * self.rate * STEP_SECONDS
        ready = self.wanted if self.ready is None else self.ready
        self.served += requests
        in_time = min(requests, self.bears * ready * STEP_SECONDS)
        self.in_time += (1.0 - self.slow_ratio) * in_time

    def counters(self, name: str) -> ServiceCounters:
        """Return what is counted of it."""
        within = tuple(0.0 if place < SLOW else self.in_time for place in range(SLOW + 1))
        within += (self.served,) * (len(LATENCY_BOUNDS) - SLOW - 1)
        return ServiceCounters(
            service=f"shop/{name}",
            served=self.served,
            failed=self.refused,
            refused=self.refused,
            lost=self.lost,
            served_within=within,
            workload=f"shop/Deployment/{name}",
        )


@dataclass
class ValueWorld:
    """Plays observations to one agent under profile `foresail`, and keeps what it proposed."""

    agent: str
    services: dict[str, ScriptedService] = field(default_factory=dict)
    nodes: dict[str, dict[str, Any]] = field(default_factory=lambda: {"node-0": {}})
    totals: dict[str, Any] = field(default_factory=dict)
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    obeys: bool = False
    """Whether a Deployment gets the replicas that were asked for."""
    value: dict[str, Any] = field(default_factory=dict)
    held_pods: int = 0
    occupancy: Occupancy | None = None
    foretells: Callable[[ObservationView], tuple[DemandBands, ...]] | None = None
    """Bands of demand of each cycle, where the agent acts on a forecast."""
    late: bool = False
    """Whether the prediction of the cycle does not come before the deadline."""
    cycle: int = 0
    log: list[Event[Any]] = field(default_factory=list)
    """Everything that the agent read or said, as it is stored."""
    _held_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Begin with an agent that knows nothing."""
        # What is seen alone, where a test does not say that forecasts are waited for.
        value = {"forecast": False, **self.value}
        settings = AgentSettings.model_validate({"profile": "foresail", "value": value})
        self.handler: AgentHandler = build(settings, ORIGIN, self.agent)
        self.state = self.handler.initial()

    def play(self, steps: int = 1) -> Proposal:
        """Play so many cycles; return the last proposal."""
        for _ in range(steps):
            proposal = self._play_one()
        return proposal

    def _play_one(self) -> Proposal:
        self.cycle += 1
        for service in self.services.values():
            service.step()
        now = START_SECONDS + self.cycle * STEP_SECONDS
        self._held_seconds += self.held_pods * STEP_SECONDS
        counters = tuple(self.services[name].counters(name) for name in sorted(self.services))
        observation = make_observation(
            self.nodes,
            cycle=self.cycle,
            pods=self.pods,
            totals=self.totals,
            cluster_time_seconds=now,
            interval_seconds=STEP_SECONDS,
            work=WorkCounters(services=counters, held_pod_seconds=self._held_seconds),
            services=table_of(ObservedServices, self._rows()) if self.services else None,
            occupancy=self.occupancy,
        )
        self.take(observation)
        if self.foretells is not None:
            assert self.handler.decide(self.state, overdue=False) == ()
            if not self.late:
                self._foretell(self.foretells)
        (new_event,) = self.handler.decide(self.state, overdue=self.late)
        proposal = new_event.data
        assert isinstance(proposal, Proposal)
        self.take(proposal, new_event.causes)
        if self.obeys:
            self._obey(proposal)
        return proposal

    def _foretell(self, bands: Callable[[ObservationView], tuple[DemandBands, ...]]) -> None:
        assert self.state.view is not None
        prediction = make_prediction(
            PredictionDemand, cycle=self.cycle, bands=bands(self.state.view),
            cluster_time_seconds=self.state.view.cluster_time_seconds,
        )  # fmt: skip
        self.take(prediction)
        self._state_capacity()

    def _state_capacity(self) -> None:
        """Say what a replica of each workload bears, as inference does from the CPU of requests."""
        rows = {
            f"shop/Deployment/{name}": {
                "version": "1",
                "low": 0.9 * one.bears,
                "replica_rate": one.bears,
                "high": 1.1 * one.bears,
                "windows": 10.0,
                "source": "prior",
            }
            for name, one in sorted(self.services.items())
        }
        assert self.state.view is not None
        stated = PredictionCapacity(
            cycle=self.cycle,
            cluster_time_seconds=self.state.view.cluster_time_seconds,
            latency_seconds=0.5,
            bad_ratio=0.01,
            workloads=table_of(CapacityTable, rows),
        )
        self.take(stated)

    def take(self, data: EventData, causes: Sequence[str] = ()) -> None:
        """Store an event, and let the agent read it."""
        event = stamp_event(data, causes=causes, seq=len(self.log) + 1)
        self.log.append(event)
        self.state = self.handler.evolve(self.state, event)

    def _rows(self) -> dict[str, dict[str, Any]]:
        return {
            f"shop/{name}": {
                "workload": f"shop/Deployment/{name}",
                "wanted": service.wanted,
                "ready": service.wanted if service.ready is None else service.ready,
                "autoscaled": service.most > 0,
                "least": service.least,
                "most": service.most,
                "replica_cpu_cores": 1.0,
                "replica_memory_bytes": 2**30,
            }
            for name, service in self.services.items()
        }

    def _obey(self, proposal: Proposal) -> None:
        action = proposal.action
        if isinstance(action, ReplicateAction) and action.replicas is not None:
            service = self.services[action.target.name.rpartition("/")[2]]
            service.least = action.replicas if service.most else 0
            service.wanted = max(action.replicas, service.wanted if service.most else 0)
