"""The history of one workload: its replicas and requests, what was expected of it, what was done to it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from projections.frame_states import FrameStates
from projections.rail_state import RailLedger
from schemas.envelope import Event
from schemas.observation import Observation, ObservedPods, ObservedServices
from schemas.prediction import DemandBands, PredictionDemand
from schemas.reaction import Reaction
from schemas.work import ServiceCounters
from services.dashboard.cycle_json import Json
from services.dashboard.decision_entry import DecisionEntry

WORKLOAD_SUBJECTS = ("observation", "prediction.demand", "reaction")
RAIL_SUBJECTS = ("outcome.execution", "stimulus")
"""Beside observations."""
MOST_REACTIONS = 40
MOST_DECISIONS = 40
QUANTILES = ("lowest", "low", "middle", "high", "highest")


@dataclass(slots=True)
class WorkloadHistory:
    """One workload `<namespace>/<kind>/<name>`, as observations, predictions and reactions tell of it."""

    name: str
    times: list[float] = field(default_factory=list)
    """Cluster time of each observation, seconds."""
    wanted: list[int | None] = field(default_factory=list)
    ready: list[int | None] = field(default_factory=list)
    served: list[float | None] = field(default_factory=list)
    """Requests answered per second since the observation before."""
    failed: list[float | None] = field(default_factory=list)
    now: Json = field(default_factory=dict)
    pods: list[Json] = field(default_factory=list)
    """Its pods that need a look."""
    bands: list[Json] = field(default_factory=list)
    """One for each prediction: of the shortest horizon, at the time it is about."""
    ahead: list[Json] = field(default_factory=list)
    """Of the newest prediction, one for each horizon."""
    reactions: list[Json] = field(default_factory=list)
    _counters: ServiceCounters | None = None
    _states: FrameStates = field(default_factory=FrameStates)

    def add(self, event: Event[Any]) -> None:
        """Take in one event."""
        match event.data:
            case Observation() as data:
                self._add_look(event, data)
            case PredictionDemand(bands=bands) if bands:
                self._add_bands(bands)
            case Reaction(reactions=items):
                mine = (item for item in items if self.name in (item.workload, item.object))
                self.reactions.extend(
                    {**item.model_dump(mode="json"), "seq": event.seq} for item in mine
                )
            case _:
                pass

    @property
    def known(self) -> bool:
        """Whether anything was observed of it."""
        return bool(self.now or self.pods or self.reactions)

    def as_json(
        self, decisions: Iterable[DecisionEntry], rails: RailLedger, until_seq: int
    ) -> Json:
        """Return everything, oldest first; `decisions` are those of the log by then, newest first."""
        return {
            "name": self.name,
            "now": self.now,
            "at": self.times,
            "series": {
                "wanted": self.wanted,
                "ready": self.ready,
                "served": self.served,
                "failed": self.failed,
            },
            "bands": self.bands,
            "ahead": self.ahead,
            "pods": self.pods,
            "rails": [rail.model_dump(mode="json") for rail in rails.rails(self.name)],
            "reactions": self.reactions[-MOST_REACTIONS:][::-1],
            "decisions": decisions_about(decisions, self.name, until_seq),
        }

    def _add_look(self, event: Event[Any], data: Observation) -> None:
        state = self._states.add(event)
        before = self.times[-1] if self.times else None
        self.times.append(data.cluster_time_seconds)
        service = _row_of(data.services, self.name)
        self.now = service or self.now
        self.wanted.append(None if service is None else service["wanted"])
        self.ready.append(None if service is None else service["ready"])
        counters = None if data.work is None else _counters_of(data.work.services, self.name)
        seconds = None if before is None else data.cluster_time_seconds - before
        self.served.append(_rate(self._counters, counters, "served", seconds))
        self.failed.append(_rate(self._counters, counters, "failed", seconds))
        self._counters = counters
        pods = None if state is None else state.tables.get("pods")
        if isinstance(pods, ObservedPods):
            rows = (dict(pods.row(number)) for number in range(len(pods.ids)))
            self.pods = [row for row in rows if row.get("workload") == self.name]

    def _add_bands(self, bands: Sequence[DemandBands]) -> None:
        """Series are named after Services; the workload's own is known from its observed row."""
        service = self.now.get("ids")
        found = [one for band in bands if (one := band_of(band, f"service/{service}")) is not None]
        self.ahead = found
        if found:
            self.bands.append(found[0])


def decisions_about(entries: Iterable[DecisionEntry], name: str, until_seq: int) -> list[Json]:
    """Return the newest of these decisions, newest first, with an action on a target, as they stood at a position."""
    mine = (
        entry.row
        | {
            "became": [text for at, text in entry.became if at <= until_seq][-1:],
            "rails": entry.rails_by(until_seq),
            "aim": next(aim for aim in _aims(entry) if aim.split(" ")[0] == name),
        }
        for entry in entries
        if name in _targets(entry)
    )
    return list(islice(mine, MOST_DECISIONS))


def workload_rows(observation: Observation | None, entries: Iterable[DecisionEntry]) -> list[Json]:
    """Return one row for each workload that was observed or aimed at, with how often acting aimed at it, by name."""
    services = None if observation is None else observation.services
    acted: dict[str, int] = {}
    for entry in entries:
        if entry.told("noop") is None:
            for target in _targets(entry):
                acted[target] = acted.get(target, 0) + ("/" in target)
    rows = {name: {"name": name, "wanted": None, "ready": None} for name in acted if acted[name]}
    for number in range(0 if services is None else len(services.ids)):
        row = services.row(number) if services is not None else {}
        rows[row["workload"]] = {
            "name": row["workload"],
            "wanted": row["wanted"],
            "ready": row["ready"],
        }
    return [rows[name] | {"acted": acted.get(name, 0)} for name in sorted(rows)]


def _targets(entry: DecisionEntry) -> set[str]:
    """Return what its actions aim at; an aim may go on with how much is wanted (`shop/Deployment/web to 4`)."""
    return {aim.split(" ")[0] for aim in _aims(entry)}


def _aims(entry: DecisionEntry) -> list[str]:
    aims = (entry.told("target"), *(action["target"] for action in entry.told("more")))
    return [aim for aim in aims if aim]


def _row_of(services: ObservedServices | None, name: str) -> Json | None:
    if services is None or name not in services.workload:
        return None
    return dict(services.row(services.workload.index(name)))


def _counters_of(
    services: Sequence[ServiceCounters] | None, workload: str
) -> ServiceCounters | None:
    return next((one for one in services or () if one.workload == workload), None)


def _rate(
    before: ServiceCounters | None, now: ServiceCounters | None, name: str, seconds: float | None
) -> float | None:
    """Return requests per second; None at the first look, and where counters began anew."""
    if before is None or now is None or not seconds or seconds <= 0:
        return None
    rise = float(getattr(now, name) - getattr(before, name))
    return round(rise / seconds, 3) if rise >= 0 else None


def band_of(band: DemandBands, series: str) -> Json | None:
    """Return one series of a band, as the page draws it; None where the band does not hold it."""
    if series not in band.series.ids:
        return None
    row = dict(band.series.row(band.series.ids.index(series)))
    return {
        "at": band.end_time_seconds,
        "horizon_seconds": band.horizon_seconds,
        **{name: row.get(name) for name in QUANTILES},
        "rule": row["rule"],
        "basis": row["basis"],
    }
