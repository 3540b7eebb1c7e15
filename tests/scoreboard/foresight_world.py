"""A small scripted world for the scoreboard: one Service, forecasts of it, and raises that rest on them."""

from __future__ import annotations

from typing import Any

from projections.score.prices import ScorePrices
from schemas.actions import ActionKind, ReplicateAction, Target, TargetKind
from schemas.effect import Effect
from schemas.envelope import NewEvent
from schemas.observation import ObservedServices
from schemas.outcome import Mode
from schemas.prediction import BandTable, DemandBands
from schemas.proposal import ForecastGround
from schemas.tables import table_of
from schemas.work import LATENCY_BOUNDS, ServiceCounters, WorkCounters
from services.scoreboard.service import build
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.state import ScoreboardState
from tests.builders import (
    ORIGIN,
    make_demand,
    make_execution,
    make_observation,
    make_proposal,
    stamp_event,
)

LOOK_SECONDS, STEP_SECONDS = 15.0, 300.0
BEGIN_SECONDS = 1_200_000.0
MODEL = "rates-ahead/1"
BEARS = 10.0
"""Requests a second of one replica; what is more fails."""
LEAD_SECONDS = 120.0
PRICES = ScorePrices()


class ForesightWorld:
    """Plays observations to a scoreboard and keeps what it says of forecasts."""

    def __init__(self, **foresight: Any) -> None:
        """Begin with 36 requests/s on four replicas."""
        settings = ScoreboardSettings.model_validate({"foresight": foresight})
        self.handler = build(settings, ORIGIN)
        self.state: ScoreboardState = self.handler.initial()
        self.cycle, self.served, self.failed = 0, 0.0, 0.0
        self.wanted = self.ready = 4
        self.prediction_id = ""
        self.said: list[NewEvent] = []

    @property
    def now(self) -> float:
        """Cluster time of the newest observation."""
        return BEGIN_SECONDS + self.cycle * LOOK_SECONDS

    def see(self, rate: float, seconds: float, *, counted: bool = True) -> None:
        """Show a rate for so long; not `counted`: the Service is not in the observations."""
        for _ in range(round(seconds / LOOK_SECONDS)):
            self.cycle += 1
            served = min(rate, BEARS * self.ready)
            self.served += served * LOOK_SECONDS
            self.failed += (rate - served) * LOOK_SECONDS
            self.take(self._observation(counted=counted))
            for new_event in self.handler.decide(self.state, overdue=False):
                self.said.append(new_event)
                self.take(new_event.data, new_event.causes)

    def foresee(self, rate: float, horizon_seconds: float = 600.0, rule: str = MODEL) -> None:
        """Foresee a rate, two more or less, in the step that ends one horizon after the newest step."""
        table = BandTable(
            ids=("service/shop/web",), newest=(36.0,), lowest=(rate - 3.0,), low=(rate - 2.0,),
            middle=(rate,), high=(rate + 2.0,), highest=(rate + 3.0,), rule=(rule,), basis=("own",),
        )  # fmt: skip
        end = self.now // STEP_SECONDS * STEP_SECONDS + horizon_seconds
        bands = DemandBands(
            horizon_seconds=horizon_seconds, end_time_seconds=end, step_seconds=STEP_SECONDS, series=table
        )  # fmt: skip
        data = make_demand(cycle=self.cycle, cluster_time_seconds=self.now, bands=(bands,))
        self.prediction_id = stamp_event(data).id
        self.take(data)

    def raise_ahead(
        self,
        replicas: int,
        *,
        without: int | None = None,
        mode: Mode = Mode.ACTIVE,
        rule: str = MODEL,
        replica_rate: float = BEARS,
    ) -> None:
        """Propose and execute a raise that rests on what was foreseen of 600 s ahead."""
        action = ReplicateAction(
            agent="safety",
            target=Target(kind=TargetKind.WORKLOAD, name="shop/Deployment/web"),
            replicas=replicas,
        )
        ground = ForecastGround(
            prediction_ids=(self.prediction_id,),
            series="service/shop/web",
            model=rule,
            made_seconds=self.now,
            horizon_seconds=600.0,
            low=58.0,
            middle=60.0,
            high=62.0,
            replica_rate=replica_rate,
            lead_seconds=LEAD_SECONDS,
            chance_before=0.9,
            chance_after=0.1,
            without_replicas=without,
        )
        effect = Effect(
            horizon_seconds=900.0,
            terms={},
            net=1.0,
            low=0.0,
            high=2.0,
            per_hour=4.0,
            currency="USD",
        )
        self.take(
            make_proposal(
                kind=ActionKind.REPLICATE,
                cycle=self.cycle,
                cluster_time_seconds=self.now,
                action=action,
                effect=effect,
                forecast=ground,
            )
        )
        self.take(
            make_execution(action, cycle=self.cycle, cluster_time_seconds=self.now, mode=mode)
        )
        self.wanted = replicas  # fmt: skip

    def of_part(self, part: str) -> list[Any]:
        """Return what was said of one part of `outcome.forecast`."""
        return [new.data for new in self.said if getattr(new.data, "part", None) == part]

    def take(self, data: Any, causes: tuple[str, ...] = ()) -> None:
        """Fold an event."""
        self.state = self.handler.evolve(self.state, stamp_event(data, causes=causes))

    def _observation(self, *, counted: bool) -> Any:
        web = ServiceCounters(
            service="shop/web", served=self.served, failed=self.failed, lost=0.0, workload="shop/Deployment/web",
            served_within=(self.served,) * len(LATENCY_BOUNDS),
        )  # fmt: skip
        row = {
            "workload": "shop/Deployment/web", "wanted": self.wanted, "ready": self.ready, "autoscaled": False,
            "least": 0, "most": 0, "replica_cpu_cores": 1.0, "replica_memory_bytes": 2**30,
        }  # fmt: skip
        return make_observation(
            1,
            cycle=self.cycle,
            cluster_time_seconds=self.now,
            interval_seconds=LOOK_SECONDS,
            work=WorkCounters(services=(web,) if counted else ()),
            services=table_of(ObservedServices, {"shop/web": row}),
        )
