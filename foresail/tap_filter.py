"""Which events a tap shows: those of an agent, about a node, of a cycle, or for which an expression
holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bus.errors import InputError
from bus.events import cycle_of_message
from bus.port import StoredMessage
from inputs.limited_json import BadJson, load_json
from projections.event_condition import names_of
from projections.figures import cell, number
from projections.frame_states import FrameStates
from schemas.actions import Action, AgentName
from schemas.agents import agent_manifests
from schemas.decision import Decision
from schemas.envelope import Event, attributes_of
from schemas.expressions import Expression
from schemas.frames import FramedData
from schemas.model import EventData
from schemas.prediction import Prediction, prediction_table
from schemas.reaction import Reaction


@dataclass
class TapFilter:
    """What is to be shown."""

    agent: AgentName | None = None
    node: str = ""
    cycle: int | None = None
    where: Expression | None = None
    _states: FrameStates = field(default_factory=FrameStates)
    _shown: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def takes(self, message: StoredMessage) -> bool:
        """Say whether a message may be shown, by what can be seen without decoding it."""
        return self.cycle is None or cycle_of_message(message) == self.cycle

    def text(self, event: Event[Any]) -> str | None:
        """Return what to say of an event: None when it is not shown, nothing for its usual line."""
        about = self._about_node(event) if self.node else ""
        if about is None or (self.agent is not None and self.agent not in agents_of(event.data)):
            return None
        if self.where is not None and not self.where.holds(names_of(event)):
            return None
        return about

    def _about_node(self, event: Event[Any]) -> str | None:
        data, node = event.data, self.node
        if isinstance(data, FramedData):
            return self._row(event)
        if isinstance(data, Prediction):
            what, ids, ratios = prediction_table(data)
            known = dict(zip(ids, ratios, strict=True))
            return f"{data.model_id}: {what} {number(known[node])}" if node in known else None
        if isinstance(data, Reaction):
            items = [item.text for item in data.reactions if node in (item.node, item.object)]
            return "; ".join(items) or None
        targets = (action.target.name for action in actions_of(data))
        return "" if node in targets else None

    def _row(self, event: Event[Any]) -> str | None:
        """Return the cells of the node's row that changed since they were last shown."""
        state = self._states.add(event)
        if state is None:
            return None  # the tap began inside a chain of deltas; the next keyframe comes soon
        row_values: dict[str, Any] = {}
        for table in state.tables.values():
            row = table.index().get(self.node)
            row_values.update({} if row is None else table.row(row))
        before, self._shown[event.type] = self._shown.get(event.type, {}), row_values
        changed = (
            name for name in row_values if name != "ids" and before.get(name) != row_values[name]
        )
        cells = [f"{name}={cell(row_values[name])}" for name in changed]
        return " ".join(cells) or None


def agents_of(data: EventData) -> tuple[AgentName, ...]:
    """Return whose event it is: who proposed, won, is executed or was rewarded."""
    agent = getattr(data, "agent", None) or getattr(data, "selected_agent", None)
    agent = agent or getattr(data, "intended_agent", None)
    agents = [agent] if agent is not None else [action.agent for action in actions_of(data)]
    return tuple(agent for agent in agents if isinstance(agent, str))


def actions_of(data: EventData) -> tuple[Action, ...]:
    """Return the actions that an event is about; empty for most kinds."""
    if isinstance(data, Decision):
        return data.actions
    action = getattr(data, "action", None)
    return () if action is None else (action,)


def find_agent(text: str) -> AgentName:
    """Return an agent by its name or letter.

    Raises:
        InputError: there is none.
    """
    agents = agent_manifests().values()
    for agent in agents:
        if text.lower() in (agent.name, agent.letter.lower()):
            return agent.name
    known = ", ".join(f"{agent.letter} or {agent.name}" for agent in agents)
    raise InputError("--agent", text, f"give one of {known}")


def event_json(message: StoredMessage, data: Any = None) -> dict[str, Any]:
    """Return one message as JSON values: seq, recorded time, subject, attributes, data.

    `data` takes the place of what is stored; stored data that is no JSON comes as text.
    """
    try:
        data = load_json(message.data) if data is None else data
    except BadJson:
        data = message.data.decode(errors="replace")
    return {
        "seq": message.seq,
        "recorded_ns": message.time_ns,
        "subject": message.subject,
        "attributes": attributes_of(message.headers),
        "data": data,
    }
