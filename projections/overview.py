"""The newest of everything, as the live view of a terminal and the page show it. Of bounded size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from projections.cycle_record import CycleRecords
from projections.outage import Outage, is_without_nodes, outage_of
from projections.run_state import RunState
from projections.standing_actions import StandingActions
from schemas.breaker import Breaker, OutcomeBreaker
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.foresight import OutcomeForesight
from schemas.mismatch import Mismatch, OutcomeMismatch
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution, OutcomeForecast, OutcomeReward, OutcomeVerification
from schemas.prediction import PredictionDemand, PredictionRisk
from schemas.promotion import OutcomeModels
from schemas.proposal import Proposal
from schemas.reaction import Reaction, ReactionItem
from schemas.registry import LAYERS
from schemas.score import OutcomeCounterfactual, OutcomeScore
from schemas.snapshot import SnapshotNodes
from schemas.stimulus import Stimulus
from schemas.switchback import OutcomeSwitchback

STAMPS = 64
"""Newest time stamps of a layer from which its rate is made."""
REWARDS = 120
UNTOUCHED = "untouched"
"""First word of the subjects of the world without us."""
REACTIONS = 40


@dataclass(frozen=True, slots=True)
class LayerActivity:
    """How many events of a layer came, and when."""

    count: int = 0
    """Events since reading began."""
    seq: int = 0
    """Position of the newest."""
    stamps_ns: tuple[int, ...] = ()
    """Recorded times of the newest events, oldest first."""

    @property
    def newest_ns(self) -> int | None:
        """Recorded time of the newest event; None before the first."""
        return self.stamps_ns[-1] if self.stamps_ns else None

    def after(self, seq: int, recorded_ns: int) -> LayerActivity:
        """Return the activity after one more event."""
        return LayerActivity(self.count + 1, seq, (*self.stamps_ns, recorded_ns)[-STAMPS:])


NO_ACTIVITY: Mapping[str, LayerActivity] = dict.fromkeys(LAYERS, LayerActivity())


@dataclass(frozen=True, slots=True)
class Overview:
    """The state of a cluster and of what Foresail does about it, after the newest event."""

    seq: int = 0
    recorded_ns: int = 0
    """The stream's time stamp of the newest message, nanoseconds since the Unix epoch."""
    layers: Mapping[str, LayerActivity] = field(default_factory=lambda: NO_ACTIVITY)
    """The six layers, in order."""
    observation: Observation | None = None
    """The newest one as it travelled: its tables may be deltas."""
    outage: Outage | None = None
    """The cluster cannot be read now."""
    risk: PredictionRisk | None = None
    demand: PredictionDemand | None = None
    cycles: CycleRecords = field(default_factory=CycleRecords)
    """Proposals, decisions and outcomes of the newest cycles; no tables."""
    reward: OutcomeReward | None = None
    """The newest one."""
    rewards: tuple[tuple[int, float | None, float], ...] = ()
    """Cycle, and the total reward that was observed, if any, and predicted: of the newest ones, oldest first."""
    forecast: OutcomeForecast | None = None
    """The newest score of the active models."""
    score: OutcomeScore | None = None
    """The newest outcome score."""
    counterfactual: OutcomeCounterfactual | None = None
    """The newest of what acting changed."""
    acting: tuple[tuple[int, float], ...] = ()
    """Cycle, and money that acting has changed since the start: the newest ones, oldest first."""
    untouched: bool = False
    """Whether the untouched world has said anything."""
    switchback: OutcomeSwitchback | None = None
    """The newest estimate from blocks that act and blocks that do not."""
    standing: StandingActions = field(default_factory=StandingActions)
    """What was done for real and has not been taken back."""
    breakers: tuple[Breaker, ...] = ()
    """Those that are not closed now."""
    mismatches: tuple[Mismatch, ...] = ()
    """What does not fit now."""
    models: OutcomeModels | None = None
    """The newest judgement of risk models; None where nobody judges them."""
    foresight: OutcomeForesight | None = None
    """The newest judgement of models of demand; None likewise."""
    reactions: tuple[ReactionItem, ...] = ()
    """Newest first."""
    stimulus: Stimulus | None = None
    run: RunState = field(default_factory=RunState)

    def after_message(self, layer: str, seq: int, recorded_ns: int) -> Overview:
        """Return the overview after a message was stored, whatever is in it."""
        layers = self.layers
        if layer in layers:
            layers = {**layers, layer: layers[layer].after(seq, recorded_ns)}
        untouched = self.untouched or layer == UNTOUCHED
        return replace(self, seq=seq, recorded_ns=recorded_ns, layers=layers, untouched=untouched)

    def after(self, event: Event[Any]) -> Overview:
        """Return the overview after an event's data; call `after_message` for each message, too."""
        run, stands = self.run.after(event), self.standing.after(event)
        same = run is self.run and stands is self.standing
        after = self if same else replace(self, run=run, standing=stands)
        match event.data:
            case SnapshotNodes() as snapshot:
                return replace(after, outage=outage_of(snapshot))
            case Observation() as observation:
                outage = self.outage if is_without_nodes(observation) else None
                return replace(after, observation=observation, outage=outage)
            case PredictionRisk() | PredictionDemand() as prediction:
                return _after_prediction(after, prediction)
            case OutcomeReward() as reward:
                return _after_reward(after, reward, self.cycles.after(event))
            case Proposal() | Decision() | OutcomeExecution() | OutcomeVerification():
                return replace(after, cycles=self.cycles.after(event))
            case OutcomeForecast(slot=0):
                of_demand = event.data.part in ("bands", "action")
                return after if of_demand else replace(after, forecast=event.data)
            case OutcomeScore() | OutcomeCounterfactual() | OutcomeSwitchback() as worth:
                return _after_worth(after, worth)
            case OutcomeBreaker() | OutcomeMismatch() as alarm:
                return _after_alarm(after, alarm, self.cycles.after(event))
            case OutcomeForesight() | OutcomeModels() as judged:
                return _after_judgement(after, judged, self.cycles.after(event))
            case Reaction(reactions=items):
                return replace(after, reactions=(*reversed(items), *self.reactions)[:REACTIONS])
            case Stimulus():
                return replace(after, stimulus=event.data)
            case _:
                return after


def _after_prediction(
    overview: Overview, prediction: PredictionRisk | PredictionDemand
) -> Overview:
    if isinstance(prediction, PredictionRisk):
        return replace(overview, risk=prediction)
    return replace(overview, demand=prediction)


def _after_reward(overview: Overview, reward: OutcomeReward, cycles: CycleRecords) -> Overview:
    observed = None if reward.observed is None else reward.observed.total
    rewards = (*overview.rewards, (reward.cycle, observed, reward.predicted.total))[-REWARDS:]
    return replace(overview, reward=reward, rewards=rewards, cycles=cycles)


def _after_alarm(
    overview: Overview, alarm: OutcomeBreaker | OutcomeMismatch, cycles: CycleRecords
) -> Overview:
    if isinstance(alarm, OutcomeMismatch):
        return replace(overview, mismatches=alarm.standing)
    return replace(overview, breakers=alarm.standing, cycles=cycles)


def _after_judgement(
    overview: Overview, judged: OutcomeForesight | OutcomeModels, cycles: CycleRecords
) -> Overview:
    if isinstance(judged, OutcomeForesight):
        return replace(overview, foresight=judged)
    return replace(overview, models=judged, cycles=cycles)


def _after_worth(
    overview: Overview, worth: OutcomeScore | OutcomeCounterfactual | OutcomeSwitchback
) -> Overview:
    match worth:
        case OutcomeScore():
            return replace(overview, score=worth)
        case OutcomeCounterfactual():
            acting = (*overview.acting, (worth.cycle, worth.total_money))
            return replace(overview, counterfactual=worth, acting=acting[-REWARDS:])
        case OutcomeSwitchback():
            return replace(overview, switchback=worth)
