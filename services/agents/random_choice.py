"""The profile `random`: proposals by chance, for experiments that ask what a policy's rules add to acting at all.

The same seed, agent and cycle give the same proposal, so a recording can be run again.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from schemas.numbers import rounded
from schemas.reasons import Reason
from schemas.view import ObservationView
from services.agents.policy import Judge, Judgement, NodePrediction, noop
from services.agents.registration import Agent
from services.agents.thresholds import Thresholds


def by_chance(agent: Agent, seed: int) -> Agent:
    """Return an agent that draws a node and one of its own actions on it, or nothing, each as likely.

    It reads no prediction; a registration without `choices` always draws nothing.
    """
    return Agent(
        agent.manifest.model_copy(update={"prediction": None}),
        replace(agent.code, judge=_drawing_judge(agent, seed)),
    )


def _drawing_judge(agent: Agent, seed: int) -> Judge[Thresholds]:
    def judge(
        view: ObservationView, prediction: NodePrediction, thresholds: Thresholds
    ) -> Judgement:
        del prediction
        random = Random(f"{seed}/{agent.name}/{view.cycle}")
        if not view.nodes.ids:
            return noop(Reason.NO_NODES, "the observation holds no node")
        node = view.nodes.ids[int(random.random() * len(view.nodes.ids))]
        offered = agent.code.choices
        choices = () if offered is None else tuple(offered(node, thresholds))
        place = int(random.random() * (len(choices) + 1))
        score = rounded(random.random())
        if place == len(choices):
            return noop(Reason.NOTHING_TO_DO, "drew nothing", score=score)
        drawn = choices[place]
        return Judgement(drawn, score, (), (), f"drew {drawn.full_kind} by chance")

    return judge
