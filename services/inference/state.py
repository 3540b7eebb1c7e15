"""State of inference between two events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from features.live import checkpoint, node_usage
from features.live.demand_series import demand_after
from features.live.live_history import LiveHistory
from features.live.node_usage import Usage
from schemas.capacity import PredictionCapacity
from schemas.envelope import Event
from schemas.history import HistoryBlock, HistoryFilled
from schemas.model import DataModel
from schemas.observation import Observation
from schemas.prediction import PredictionDemand, PredictionRisk, PredictionShadow
from schemas.promotion import OutcomeModels
from schemas.sizes import PredictionSizes
from schemas.snapshot import SnapshotPlacements, SnapshotUsage, SnapshotWorkloads
from schemas.view import ObservationView, OpenCycle, add_open_cycle, remove_open_cycle, update_view
from services.inference.foretelling import PackedForetold, foretold_after
from services.inference.speakers import Numbers
from services.inference.workloads import NOTHING, FollowedParts, Workloads, after_event, after_view
from services.packed_demand import PackedDemand

RISK, DEMAND = "risk", "demand"
CHECKPOINT_BYTES = 980_000
"""What a state may take; a message ends at 1 MiB."""
NODE_BYTES, POD_BYTES = 140, 260
"""About what one row of the observation takes."""


def _restored_live(value: Any) -> LiveHistory | None:
    return value if isinstance(value, LiveHistory) else checkpoint.decode_history(value)


def _restored_usage(value: Any) -> Usage | None:
    return value if isinstance(value, Usage) else node_usage.decode_usage(value)


PackedLive = Annotated[
    LiveHistory | None, PlainValidator(_restored_live), PlainSerializer(checkpoint.encode_history)
]
PackedUsage = Annotated[
    Usage | None, PlainValidator(_restored_usage), PlainSerializer(node_usage.encode_usage)
]


@dataclass(frozen=True, slots=True)
class Outputs:
    """Outputs of the models in use."""

    outputs: tuple[str, ...] = (RISK, DEMAND)
    """What is owed for each cycle: `risk`, `demand`, and the slots of shadow models."""
    history: bool = False
    usage: bool = False
    shadow_cycles: int = 1
    """A shadow model predicts every so many cycles."""
    history_each_cycle: bool = False
    """Whether an active model reads the history."""
    demand_bands: bool = False
    """Whether bands of demand are published."""
    workloads: FollowedParts = NOTHING
    """What is followed of workloads."""
    rates: Numbers | None = None
    """The model that makes the bands of the history; None: they are made of minutes by simple rules."""

    def outputs_of_cycle(self, cycle: int) -> tuple[str, ...]:
        """Return the outputs of one cycle."""
        return self.outputs if self.shadows_predict(cycle) else (RISK, DEMAND)

    def shadows_predict(self, cycle: int) -> bool:
        """Say whether shadow models predict in a cycle."""
        return cycle % self.shadow_cycles == 0


class InferenceState(DataModel):
    """The newest observation, what led there, and what is not published yet."""

    view: ObservationView | None = None
    """None before the first keyframe."""
    owed: dict[str, tuple[OpenCycle, ...]] = {}
    """By output the cycles without it in the log, oldest first; a crash can leave some of one cycle."""
    live: PackedLive = None
    """History of attempts; None when no model reads it."""
    usage: PackedUsage = None
    """Windows of use; None when no model reads them."""
    demand: PackedDemand = None
    """Demand by the minute; None when no bands are published."""
    foretold: PackedForetold = Field(default=None, exclude_if=lambda foretold: foretold is None)
    """Bands by a trained model; None where none makes them."""
    workloads: Workloads = Field(default=Workloads(), exclude_if=lambda known: known == Workloads())
    """Fourteen days of each workload, and what its replicas bear."""
    driving: str = Field(default="", exclude_if=lambda model_id: not model_id)
    """Id of the shadow that predicts for the newest observation what is acted upon; empty: what the settings name."""
    chosen: str = Field(default="", exclude_if=lambda model_id: not model_id)
    """The same from the next observation on. A judgement takes effect at the observation that follows it in the log, so
    that it does not matter how far this process had read when it predicted.
    """

    @model_serializer(mode="wrap")
    def _fit_into_checkpoint(self, store: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what would not fit a checkpoint's message beside the observation.

        After a restart it begins anew, and what the predictions say of their features shows it.
        """
        content: dict[str, Any] = store(self)
        room = CHECKPOINT_BYTES
        if self.view is not None:
            room -= NODE_BYTES * len(self.view.nodes) + POD_BYTES * len(self.view.pods)
        for name in ("live", "usage", "demand"):
            size = len(content[name] or "")
            content[name] = content[name] if size <= room else None
            room -= size if size <= room else 0
        size = len(json.dumps(content.get("foretold")))
        if size > room:
            del content["foretold"]
        room -= size if size <= room else 0
        if len(json.dumps(content.get("workloads"))) > room:
            del content["workloads"]  # what is in the log is read again, the rest begins anew
        return content


def evolve(state: InferenceState, event: Event[Any], outputs: Outputs) -> InferenceState:
    """Return the state after one stored event."""
    match event.data:
        case Observation():
            return _apply_observation(state, event, outputs)
        case SnapshotPlacements() if outputs.history:
            live = (state.live or LiveHistory()).with_placements(event.data)
            return state.model_copy(update={"live": live})
        case SnapshotWorkloads() if outputs.history:
            live = (state.live or LiveHistory()).with_workloads(event.data)
            return state.model_copy(update={"live": live})
        case OutcomeModels(driving=driving):
            return state.model_copy(update={"chosen": driving})
        case PredictionRisk():
            return _close_cycle(state, RISK, event.data.cycle)
        case PredictionDemand():
            return _close_cycle(state, DEMAND, event.data.cycle)
        case PredictionShadow():
            return _close_cycle(state, str(event.data.slot), event.data.cycle)
        case (
            SnapshotUsage()
            | HistoryFilled()
            | HistoryBlock()
            | PredictionCapacity()
            | PredictionSizes()
        ) if outputs.workloads:
            workloads = after_event(state.workloads, event.data, outputs.workloads)
            return state.model_copy(update={"workloads": workloads})
    return state


def _apply_observation(
    state: InferenceState, event: Event[Any], outputs: Outputs
) -> InferenceState:
    view = update_view(state.view, event)
    live, followed = state.live, state.usage
    if view is not None and outputs.history:
        each_cycle = outputs.history_each_cycle or bool(state.chosen)
        with_changes = each_cycle or outputs.shadows_predict(view.cycle)
        live = (live or LiveHistory()).with_observation(view, with_changes=with_changes)
    if view is not None and outputs.usage:
        followed = node_usage.usage_after(followed, view)
    by_minute = outputs.demand_bands and outputs.rates is None
    demand = state.demand if by_minute else None
    if view is not None and by_minute:
        demand = demand_after(demand, view)
    workloads = state.workloads
    if view is not None and outputs.workloads:
        workloads = after_view(workloads, view, outputs.workloads)
    foretold = state.foretold
    if view is not None and outputs.rates is not None and workloads.followed is not None:
        foretold = foretold_after(foretold, workloads.followed.history, outputs.rates)
    new = outputs.outputs_of_cycle(event.data.cycle)
    open_cycles = ((name, state.owed.get(name, ())) for name in outputs.outputs)
    owed = {
        name: add_open_cycle(cycles, event) if name in new else cycles
        for name, cycles in open_cycles
    }
    return InferenceState.model_construct(
        view=view,
        owed=owed,
        live=live if outputs.history else None,
        usage=followed if outputs.usage else None,
        demand=demand,
        foretold=foretold if outputs.rates is not None else None,
        workloads=workloads,
        driving=state.chosen,
        chosen=state.chosen,
    )


def _close_cycle(state: InferenceState, output: str, cycle: int) -> InferenceState:
    cycles = state.owed.get(output, ())
    return state.model_copy(
        update={"owed": {**state.owed, output: remove_open_cycle(cycles, cycle)}}
    )


def open_cycles(owed: Mapping[str, Sequence[OpenCycle]]) -> dict[int, OpenCycle]:
    """Return every cycle that lacks an output, by number."""
    return {cycle.cycle: cycle for cycles in owed.values() for cycle in cycles}
