"""The story of one cycle: every event that is about it, gathered from a log or a recording."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from foresail.log_source import Source, cycle_of_message
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution, OutcomeForecast, OutcomeReward, OutcomeVerification
from schemas.prediction import Prediction
from schemas.proposal import Proposal
from schemas.registry import UnknownEvent, decode

TOLD = ("observation", "prediction.>", "proposal.*", "decision", "outcome.*")
"""Subjects of what a story tells."""
TABLES = ("nodes", "pods", "frame", "risk_table", "demand_table")
"""Fields that hold whole tables; a story leaves them to `tap --json`."""


@dataclass
class Story:
    """The events of one cycle, by what they are."""

    cycle: int
    observation: Event[Observation] | None = None
    predictions: list[Event[Any]] = field(default_factory=list)
    """Risk and demand first, then those of shadow models."""
    proposals: list[Event[Proposal]] = field(default_factory=list)
    decision: Event[Decision] | None = None
    executions: list[Event[OutcomeExecution]] = field(default_factory=list)
    verifications: list[Event[OutcomeVerification]] = field(default_factory=list)
    reward: Event[OutcomeReward] | None = None
    forecasts: list[Event[OutcomeForecast]] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    """Positions of messages of the cycle that this version cannot read."""

    def add(self, event: Event[Any]) -> None:
        """Take one event of the cycle."""
        match event.data:
            case Observation():
                self.observation = event
            case Prediction():
                self.predictions.append(event)
            case Proposal():
                self.proposals.append(event)
            case Decision():
                self.decision = event
            case OutcomeExecution():
                self.executions.append(event)
            case OutcomeVerification():
                self.verifications.append(event)
            case OutcomeReward():
                self.reward = event
            case OutcomeForecast():
                self.forecasts.append(event)
            case _:
                pass

    @property
    def late(self) -> list[Event[Proposal]]:
        """Proposals that the decision did not consider although it stands."""
        if self.decision is None:
            return []
        considered = {one.id for one in self.decision.data.considered}
        return [proposal for proposal in self.proposals if proposal.id not in considered]

    @property
    def events(self) -> list[Event[Any]]:
        """Everything that is told, oldest first."""
        single = [self.observation, self.decision, self.reward]
        found: list[Event[Any]] = [one for one in single if one is not None]
        many = (self.predictions, self.proposals, self.executions, self.verifications)
        for events in (*many, self.forecasts):
            found.extend(events)
        return sorted(found, key=lambda event: event.seq)

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values; tables are left out."""
        return {
            "cycle": self.cycle,
            "decision": _shown(self.decision),
            "observation": _shown(self.observation),
            "predictions": [_shown(event) for event in self.predictions],
            "proposals": [_shown(event) for event in self.proposals],
            "late": [event.id for event in self.late],
            "executions": [_shown(event) for event in self.executions],
            "verifications": [_shown(event) for event in self.verifications],
            "reward": _shown(self.reward),
            "forecasts": [_shown(event) for event in self.forecasts],
            "unreadable": self.unreadable,
        }


async def story_of(source: Source, cycle: int) -> Story:
    """Gather the story of a cycle."""
    story = Story(cycle)
    async for message in source.messages(TOLD, start_seq=await source.start_of_cycle(cycle)):
        if cycle_of_message(message) != cycle:
            continue
        try:
            event = decode(
                message.subject,
                message.headers,
                message.data,
                seq=message.seq,
                recorded_ns=message.time_ns,
            )
        except UnknownEvent:
            story.unreadable.append(message.seq)
        else:
            story.add(event)
    return story


def _shown(event: Event[Any] | None) -> Any:
    if event is None:
        return None
    content = event.data.model_dump(mode="json")
    for table in TABLES:
        content.pop(table, None)
    return {
        "id": event.id,
        "type": event.type,
        "seq": event.seq,
        "time": event.time,
        "data": content,
    }
