"""What inference knows between two events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from features.live import checkpoint, node_usage, rates_text
from features.live.demand_series import demand_after
from features.live.failure_rates import FailureRates
from features.live.live_history import LiveHistory
from features.live.node_usage import Usage
from features.live.rates_text import RatesByModel
from schemas.envelope import Event
from schemas.manifest import ModelManifest
from schemas.model import DataModel
from schemas.observation import Observation
from schemas.prediction import PredictionDemand, PredictionRisk, PredictionShadow
from schemas.promotion import OutcomeModels
from schemas.snapshot import SnapshotPlacements, SnapshotWorkloads
from schemas.view import ObservationView, OpenCycle, add_open_cycle, remove_open_cycle, update_view
from services.inference.risk_inputs import RiskInputs
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


def _restored_rates(value: Any) -> RatesByModel | None:
    return rates_text.decode_rates(value) if isinstance(value, str) else value


PackedLive = Annotated[
    LiveHistory | None, PlainValidator(_restored_live), PlainSerializer(checkpoint.encode_history)
]
PackedRates = Annotated[
    RatesByModel | None,
    PlainValidator(_restored_rates),
    PlainSerializer(rates_text.encode_rates),
]
PackedUsage = Annotated[
    Usage | None, PlainValidator(_restored_usage), PlainSerializer(node_usage.encode_usage)
]


class FollowsRates(Protocol):
    """A model that follows the cluster's failure rates."""

    @property
    def manifest(self) -> ModelManifest:
        """What it is; its `live_rates` say how to count."""
        ...

    def expected_again(self, inputs: RiskInputs, rates: FailureRates) -> float:
        """Return the failures a second that it expects of workloads that have failed."""
        ...


@dataclass(frozen=True, slots=True)
class Outputs:
    """What the models in use make of the log."""

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
    following: tuple[FollowsRates, ...] = ()
    """Models that follow the cluster's failure rates."""

    def outputs_of_cycle(self, cycle: int) -> tuple[str, ...]:
        """Return the outputs of one cycle."""
        return self.outputs if self.shadows_speak(cycle) else (RISK, DEMAND)

    def shadows_speak(self, cycle: int) -> bool:
        """Say whether shadow models predict in a cycle."""
        return cycle % self.shadow_cycles == 0


class InferenceState(DataModel):
    """The newest observation, what led there, and what is owed."""

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
    rates: PackedRates = Field(default=None, exclude_if=lambda rates: rates is None)
    """The cluster's failure rates, by id of the models that follow them; None when none does."""
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
        for name in ("rates", "live", "usage", "demand"):
            size = len(content.get(name) or "")
            if name in content:
                content[name] = content[name] if size <= room else None
            room -= size if size <= room else 0
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
    return state


def _apply_observation(
    state: InferenceState, event: Event[Any], outputs: Outputs
) -> InferenceState:
    view = update_view(state.view, event)
    live, followed, rates = state.live, state.usage, state.rates
    if view is not None and outputs.history:
        each_cycle = outputs.history_each_cycle or bool(state.chosen)
        with_changes = each_cycle or outputs.shadows_speak(view.cycle)
        live, rates = _observed(state, view, outputs, with_changes=with_changes)
    if view is not None and outputs.usage:
        followed = node_usage.usage_after(followed, view)
    demand = state.demand if outputs.demand_bands else None
    if view is not None and outputs.demand_bands:
        demand = demand_after(demand, view)
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
        rates=rates if outputs.following else None,
        driving=state.chosen,
        chosen=state.chosen,
    )


def _observed(
    state: InferenceState, view: ObservationView, outputs: Outputs, *, with_changes: bool
) -> tuple[LiveHistory, RatesByModel | None]:
    """Return the history and the rates after an observation.

    Args:
        state: the state before it.
        view: the observation.
        outputs: what the models want.
        with_changes: whether a model reads the history before the next observation.
    """
    before = state.live or LiveHistory()
    if not outputs.following:
        return before.with_observation(view, with_changes=with_changes), state.rates
    live = before.with_observation(view, with_changes=False)
    changes = live.held[len(before.held) :]
    snapshot = live.newest
    if snapshot is None or snapshot is before.newest:
        return live.with_held_changes(view.cycle) if with_changes else live, state.rates
    ready = dict(zip(view.nodes.ids, view.nodes.ready, strict=True))
    found = before.newest is None
    rates: dict[str, FailureRates] = {}
    for model in outputs.following:
        rules, model_id = model.manifest.live_rates, model.manifest.model_id
        assert rules is not None
        old = (state.rates or {}).get(model_id, FailureRates())
        rates[model_id] = old.after(snapshot, changes, ready, rules, found=found)
    if with_changes or any(each.repeats(snapshot) for each in rates.values()):
        live = live.with_held_changes(view.cycle)
        inputs = RiskInputs(view, live)
        for model in outputs.following:
            own = rates[model.manifest.model_id]
            again = model.expected_again(inputs, own) if own.repeats(snapshot) else 0.0
            rates[model.manifest.model_id] = own.expecting_again(again)
    return live, rates


def _close_cycle(state: InferenceState, output: str, cycle: int) -> InferenceState:
    cycles = state.owed.get(output, ())
    return state.model_copy(
        update={"owed": {**state.owed, output: remove_open_cycle(cycles, cycle)}}
    )


def open_cycles(owed: Mapping[str, Sequence[OpenCycle]]) -> dict[int, OpenCycle]:
    """Return every cycle that lacks an output, by number."""
    return {cycle.cycle: cycle for cycles in owed.values() for cycle in cycles}
