"""The product's agents, told from outside what to propose: everything behind the proposal is as ever.

A world runs in a thread of its own. In each cycle the first agent that has to judge asks, and the world stands still
until somebody has answered for all three. Gates, feasibility, referee, guard rails, executor and scoreboard are the
product's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from queue import Queue
from typing import Any

from bus.follow import Handler
from schemas.envelope import Event, NewEvent
from schemas.numbers import rounded
from schemas.prediction import PredictionDemand, PredictionRisk
from schemas.view import ObservationView
from services.agents.learned_actions import KINDS, action_of, number_of
from services.agents.policy import Judgement, NodePrediction
from services.agents.registration import Agent
from services.agents.registry import agents_by_name
from services.agents.service import AgentHandler
from services.agents.settings import AgentSettings
from services.agents.state import AgentState
from services.agents.thresholds import Thresholds

Answers = Mapping[str, int]
"""Number of each agent's action; one that is left out judges by its own rules."""
Ratios = Mapping[str, float]
KEPT_CYCLES = 8


class WorldClosed(BaseException):
    """Nobody answers any more; no error of the world, so nothing in it may catch it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A cycle in which the agents have to judge."""

    view: ObservationView
    risks: Ratios
    demands: Ratios


@dataclass(slots=True)
class Steering:
    """The meeting of a world and whoever acts in it; one world alone may use it."""

    settings: AgentSettings
    questions: Queue[Question | None] = field(default_factory=Queue)
    """None: the world has come to its end."""
    _answers: Queue[Answers | None] = field(default_factory=Queue)
    _risks: dict[int, Ratios] = field(default_factory=dict)
    _demands: dict[int, Ratios] = field(default_factory=dict)
    _answered: dict[int, tuple[Question, Answers]] = field(default_factory=dict)
    _ended: bool = False
    rules: dict[int, dict[str, int]] = field(default_factory=dict)
    """By cycle, what each agent's own policy would have wanted; known once all have judged."""

    # ---- whoever acts

    def answer(self, answers: Answers) -> None:
        """Let the world go on with these actions."""
        self._answers.put(answers)

    def close(self) -> None:
        """End the world at its next question, or at the one that it waits with."""
        self._answers.put(None)

    # ---- the world

    def instead(self, handler: Handler[Any]) -> Handler[Any]:
        """Return the steered agent in place of an agent; all others stay."""
        if not isinstance(handler, AgentHandler):
            return handler
        name = handler.name.removeprefix("agent-")
        return SteeredAgent(agents_by_name()[name], self) if name in KINDS else handler

    def note(self, event: Event[Any]) -> None:
        """Take a prediction; several agents may tell of the same one."""
        data = event.data
        if isinstance(data, PredictionRisk):
            ratios = dict(zip(data.nodes.ids, data.nodes.risk_ratio, strict=True))
            self._risks[data.cycle] = ratios
        elif isinstance(data, PredictionDemand):
            self._demands[data.cycle] = dict(
                zip(data.nodes.ids, data.nodes.demand_ratio, strict=True)
            )

    def knows(self, cycle: int) -> bool:
        """Say whether both predictions of a cycle are there."""
        return cycle in self._risks and cycle in self._demands

    def judge(
        self,
        agent: Agent,
        view: ObservationView,
        prediction: NodePrediction,
        thresholds: Thresholds,
    ) -> Judgement:
        """Return what an agent is told to want; its own judgement where that is the same action.

        Raises:
            WorldClosed: nobody answers any more; the first one to ask says so, and the others judge by themselves.
        """
        own = agent.code.judge(view, prediction, thresholds)
        if self._ended:
            return own
        question, answers = self._answer_for(view)
        self.rules.setdefault(view.cycle, {})[agent.name] = number_of(agent.name, own.action)
        number = answers.get(agent.name)
        if number is None or number == number_of(agent.name, own.action):
            return own
        action = action_of(
            agent.name, number, view, question.risks, question.demands, self.settings
        )
        score = _score(agent.name, action.target.name, question)
        return Judgement(action, score, (), (), f"told to want {action.full_kind}")

    def _answer_for(self, view: ObservationView) -> tuple[Question, Answers]:
        if view.cycle not in self._answered:
            question = Question(
                view, self._risks.get(view.cycle, {}), self._demands.get(view.cycle, {})
            )
            self.questions.put(question)
            answers = self._answers.get()
            if answers is None:
                self._ended = True
                raise WorldClosed
            self._answered[view.cycle] = question, answers
            for known in (self._answered, self._risks, self._demands, self.rules):
                for cycle in [one for one in known if one <= view.cycle - KEPT_CYCLES]:
                    del known[cycle]
        return self._answered[view.cycle]


class SteeredAgent(AgentHandler):
    """An agent whose policy is `Steering.judge`; it waits for both predictions, since all see both."""

    def __init__(self, agent: Agent, steering: Steering) -> None:
        """Take the place of an agent."""

        def judge(
            view: ObservationView, prediction: NodePrediction, thresholds: Thresholds
        ) -> Judgement:
            return steering.judge(agent, view, prediction, thresholds)

        super().__init__(Agent(agent.manifest, replace(agent.code, judge=judge)), steering.settings)
        self._steering, self._wanted = steering, agent.manifest.prediction

    @property
    def reads(self) -> tuple[tuple[str, ...], ...]:
        """Return what the agent reads, and both predictions."""
        both = (("prediction", "risk"), ("prediction", "demand"))
        return tuple(dict.fromkeys((*super().reads, *both)))

    def evolve(self, state: AgentState, event: Event[Any]) -> AgentState:
        """Return the state; of predictions only the agent's own is part of it."""
        self._steering.note(event)
        foreign = (isinstance(event.data, PredictionRisk) and self._wanted != "risk") or (
            isinstance(event.data, PredictionDemand) and self._wanted != "demand"
        )
        return state if foreign else super().evolve(state, event)

    def decide(self, state: AgentState, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return the proposals, once both predictions of the newest cycle are there."""
        waits = state.open and not self._steering.knows(state.open[-1].cycle)
        return () if waits and not overdue else super().decide(state, overdue=overdue)


Listener = Callable[[Event[Any]], None]
PlayWorld = Callable[[int, Steering, Listener], None]
"""(seed, who steers, told of every event) -> plays a world to its end."""


def _score(agent: str, target: str, question: Question) -> float:
    """Return how strongly a told action is wanted: as the agent's own policy would score it."""
    if agent == "safety":
        return rounded(question.risks.get(target, 0.0))
    if agent == "efficiency":
        return rounded(max(0.0, 1.0 - question.demands.get(target, 0.0)))
    return 1.0
