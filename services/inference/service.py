"""Inference as a handler: on each observation what every model says of it.

Older open cycles are superseded.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from schemas.envelope import Event, NewEvent
from schemas.identity import Origin
from schemas.model import EventData
from schemas.promotion import OutcomeModels
from schemas.reasons import Reason
from schemas.view import OpenCycle
from services.inference.models import MODELS, Models, load
from services.inference.prediction import ExplainLimits, PredictionBuilder
from services.inference.predictor import Registry
from services.inference.settings import InferenceSettings
from services.inference.state import (
    DEMAND,
    RISK,
    InferenceState,
    Outputs,
    evolve,
    open_cycles,
)
from services.inference.workloads import NOTHING, FollowedParts, new_data


class InferenceHandler:
    """The behaviour of the process `inference`; see `bus.follow.Handler`."""

    name = "inference"
    state_version = 2
    deadline_seconds: float | None = None
    """Nothing to wait for: an observation is all it needs."""

    def __init__(
        self,
        models: Models,
        limits: ExplainLimits,
        shadow_cycles: int = 1,
        *,
        demand_bands: bool = False,
        workloads: FollowedParts = NOTHING,
    ) -> None:
        """Predict with the same models for the whole life of the process."""
        self.item: Callable[[str, object], AbstractContextManager[object]] = _every_error_ends_it
        """The boundary around each prediction: one model that fails costs no other its output."""
        self._models = models
        self._limits = limits
        slots = tuple(str(slot) for slot in range(1, len(models.shadows) + 1))
        self._wanted = Outputs(
            (RISK, DEMAND, *slots),
            models.needs_history,
            models.needs_usage,
            shadow_cycles,
            models.risk is not None,
            demand_bands,
            workloads,
            models.rates,
        )
        self.rebuilt_from = (("history", ">"),) if workloads.history else ()
        """What is read again from the log's beginning after a checkpoint was restored."""

    @property
    def reads(self) -> tuple[tuple[str, ...], ...]:
        """Observations and its own output; for models of attempts what runs where, for shadows which one drives."""
        history = (("snapshot", "placements"), ("snapshot", "workloads"))
        shadows = (
            (("prediction", "shadow", "*"), OutcomeModels.PATTERN) if self._models.shadows else ()
        )
        return (
            *(history if self._wanted.history else ()),
            ("observation",),
            ("prediction", "*"),
            *shadows,
            *self._wanted.workloads.reads,
        )

    @property
    def model_ids(self) -> tuple[str, ...]:
        """Models in use, for the announcement."""
        return self._models.ids

    def initial(self) -> InferenceState:
        """Return the state before any event."""
        return InferenceState()

    def evolve(self, state: InferenceState, event: Event[Any]) -> InferenceState:
        """Return the state after one stored event."""
        return evolve(state, event, self._wanted)

    def open_cycle(self, state: InferenceState) -> int | None:
        """Return the newest cycle without all its predictions."""
        return max((cycles[-1].cycle for cycles in state.owed.values() if cycles), default=None)

    def decide(self, state: InferenceState, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return the predictions to publish.

        A result for the newest observation, superseded for older open cycles.
        """
        del overdue  # nothing is ever waited for
        cycles = open_cycles(state.owed)
        newest = max(cycles, default=None)
        new_events: list[NewEvent] = []
        for number in sorted(cycles):
            reason = Reason.SUPERSEDED if number != newest else None
            builder = PredictionBuilder(self._models, self._limits, cycles[number], state, reason)
            for output in self._wanted.outputs:
                if any(cycle.cycle == number for cycle in state.owed.get(output, ())):
                    with self.item(f"predict {output}", number):
                        new_events.append(_draft(builder.build(output), cycles[number]))
        view = state.view
        if newest is not None and view is not None and view.cycle == newest:
            with self.item("tell of workloads", newest):
                told = new_data(state.workloads, view, self._wanted.workloads)
                new_events += [_draft(data, cycles[newest]) for data in told]
        return tuple(new_events)


def _every_error_ends_it(loop: str, key: object) -> AbstractContextManager[object]:
    del loop, key
    return nullcontext()


def _draft(data: EventData, cycle: OpenCycle) -> NewEvent:
    return NewEvent(data, cycle.cycle, cycle.cluster_time_seconds, (cycle.observation_id,))


def check_models(settings: InferenceSettings) -> None:
    """Load the models that the settings name, and refuse them when they cannot be used.

    Raises:
        ConfigError: a name that is no model, or the wrong kind of one.
        InputError: a model directory that cannot be used.
    """
    load(settings)


def build(
    settings: InferenceSettings, origin: Origin, registry: Registry = MODELS
) -> InferenceHandler:
    """Return the handler that the settings describe; the same one live, in re-runs and in simulation.

    Raises:
        ConfigError: the settings name no known model.
        InputError: a model directory that cannot be used.
    """
    del origin  # events get their origin when they are stamped
    limits = ExplainLimits(
        settings.explain_risk_ratio,
        settings.explain_demand_ratio,
        settings.explain_targets,
        settings.explain_shadow_targets,
        settings.shadow_targets,
    )
    return InferenceHandler(
        load(settings, registry),
        limits,
        settings.shadow_cycles,
        demand_bands=settings.demand_bands,
        workloads=settings.followed_parts(),
    )
