"""`Foresail/Agents-v1`: the three agents as a parallel environment of PettingZoo, over the product's own chain.

Each step is a cycle: all three see the same numbers (`services.agents.learned_observation`), each says by a number
what it wants (`services.agents.learned_actions`), and referee, guard rails, executor and scoreboard do as ever.
Rewards are the scoreboard's own, of what was observed afterwards: `own` gives each agent its terms, `total` gives
everybody the weighted total. The total of an episode is the same number for every policy, learned or not
(`AgentsEnv.episode_total`), so two of them are never compared on different scales.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from math import fsum
from typing import Any, Literal

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from lab.experiments.scored import ScoredTime
from lab.learning.agents.steering import PlayWorld, Question, Steering, WorldClosed
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.outcome import OutcomeReward
from schemas.score import OutcomeScore
from services.agents.learned_actions import KINDS, LETTERS
from services.agents.learned_observation import Variant, names_of, observation_of
from services.agents.settings import AgentSettings

AGENTS_V1 = "Foresail/Agents-v1"
Reward = Literal["own", "total"]
Seen = dict[str, NDArray[np.float32]]
Infos = dict[str, dict[str, Any]]


class AgentsEnv(ParallelEnv[str, Any, int]):  # type: ignore[misc]
    """One world after the other; agents are called A, B and C, as the predecessors' are."""

    metadata = {"name": AGENTS_V1, "render_modes": []}

    def __init__(
        self,
        play: PlayWorld,
        variant: Variant = "baseline",
        *,
        reward: Reward = "own",
        steps: int = 120,
        settings: AgentSettings | None = None,
        first_seed: int = 1,
    ) -> None:
        """Choose what is seen and paid.

        Args:
            play: plays a world (`foresail.learn.agents_world.world_player`), of at least `steps` cycles.
            variant: which numbers are seen.
            reward: each agent its own terms, or the weighted total for all.
            steps: cycles of an episode.
            settings: the agents', whose thresholds shape the actions; they have to be the world's.
            first_seed: of the first world that is reset without one.
        """
        self._play, self._variant, self._paid, self._steps = play, variant, reward, steps
        self._settings = settings or AgentSettings()
        self.possible_agents = list(LETTERS)
        self.agents: list[str] = []
        numbers = len(names_of(variant))
        self._seen = {name: Box(0.0, np.inf, (numbers,), np.float32) for name in LETTERS}
        self._done = {name: Discrete(len(KINDS[agent])) for name, agent in LETTERS.items()}
        self._world: Future[None] | None = None
        self._steering: Steering
        self._seed = first_seed - 1

    def observation_space(self, agent: str) -> Box:
        """Return the space of an agent's observations."""
        return self._seen[agent]

    def action_space(self, agent: str) -> Discrete[Any]:
        """Return the space of an agent's actions."""
        return self._done[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, Infos]:
        """Begin an episode in a new world; without a seed the one after the last."""
        del options
        self.close()
        self._seed = self._seed + 1 if seed is None else seed
        self.agents = list(self.possible_agents)
        self._rewards: list[OutcomeReward] = []
        self._paid_until = 0
        self._decision: Decision | None = None
        self._step = 0
        self._begin_world()
        question = self._next_question()
        if question is None:
            raise RuntimeError("the world ended before its first cycle; give it more time")
        return self._observations(question), {name: {} for name in self.agents}

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[Seen, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Let all three act in this cycle, by their own rules where `actions` does not name them, and go on."""
        agents = self.agents
        cycle = self._question.view.cycle
        told = {LETTERS[name]: int(actions[name]) for name in agents if name in actions}
        self._steering.answer(told)
        question = self._next_question()
        self._step += 1
        over = question is None or self._step >= self._steps
        rewards, infos = self._rewards_since(), self._infos(cycle)
        seen = self._observations(question or self._question)
        truncations = dict.fromkeys(agents, over)
        if over:
            self.agents = []
            self.close()
        return seen, rewards, dict.fromkeys(agents, False), truncations, infos

    def close(self) -> None:
        """End the world, if one is there."""
        if self._world is not None:
            if not self._world.done():
                self._steering.close()
            wait([self._world])
            self._world = None

    @property
    def episode_total(self) -> float:
        """The scoreboard's weighted totals of all decisions whose outcome has been observed so far."""
        return fsum(one.observed.total for one in self._rewards if one.observed is not None)

    @property
    def outcome_score(self) -> tuple[float | None, Mapping[str, float]]:
        """Money of the outcome score an hour so far, in all and by component; None before two were told."""
        return self._scored.per_hour()

    # ---- the world

    def _begin_world(self) -> None:
        self._steering = steering = Steering(self._settings)
        rewards = self._rewards
        self._scored = scored = ScoredTime(0.0)

        def listen(event: Event[Any]) -> None:
            if isinstance(event.data, OutcomeReward):
                rewards.append(event.data)
            elif isinstance(event.data, Decision):
                self._decision = event.data
            elif isinstance(event.data, OutcomeScore):
                scored.take(event.data)

        def run() -> None:
            try:
                self._play(self._seed, steering, listen)
            except WorldClosed:
                return
            finally:
                steering.questions.put(None)

        with_one = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agents-world")
        self._world = with_one.submit(run)
        with_one.shutdown(wait=False)

    def _next_question(self) -> Question | None:
        """Return the next cycle's question; None: the world has ended. Raises what ended it."""
        question = self._steering.questions.get()
        if question is not None:
            self._question = question
        elif self._world is not None:
            self._world.result()
        return question

    # ---- what is told

    def _observations(self, question: Question) -> Seen:
        seen = observation_of(question.view, question.risks, question.demands, self._variant)
        return {name: seen.copy() for name in self.possible_agents}

    def _rewards_since(self) -> dict[str, float]:
        """Return what the scoreboard has paid since the last step."""
        new = [one for one in self._rewards[self._paid_until :] if one.observed is not None]
        self._paid_until = len(self._rewards)
        if self._paid == "total":
            total = fsum(one.observed.total for one in new if one.observed is not None)
            return dict.fromkeys(self.agents, total)
        return {
            name: fsum(
                one.observed.by_agent.get(LETTERS[name], 0.0)
                for one in new
                if one.observed is not None
            )
            for name in self.agents
        }

    def _infos(self, cycle: int) -> Infos:
        """Return the predecessors' infos, and what the agent's own rules would have wanted in that cycle."""
        decision = self._decision
        rules = self._steering.rules.get(cycle, {})
        return {name: self._info(LETTERS[name], decision, rules) for name in self.agents}

    def _info(
        self, agent: str, decision: Decision | None, rules: Mapping[str, int]
    ) -> dict[str, Any]:
        info: dict[str, Any] = {
            "rule_action": rules.get(agent),
            "global_score_total": self.episode_total,
        }
        if decision is None:
            return info
        proposals = {one.agent: one for one in decision.considered}
        proposed, lost = proposals.get(agent), decision.overridden.get(agent)
        return info | {
            "proposal": None if proposed is None else str(proposed.kind),
            "override_reason": None if lost is None else lost.text,
            "resolved_action": decision.action.full_kind,
            "referee_rationale": decision.rationale,
        }
