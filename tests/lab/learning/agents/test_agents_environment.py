"""`Foresail/Agents-v1`: PettingZoo's own check, the product's chain behind it, and one scale for every policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import fsum
from typing import Any

import pytest

pytest.importorskip("pettingzoo", reason="needs the extra `learn`")

from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test

from bus.errors import InputError
from foresail.learn.agents_world import PROFILE, SPARE_CYCLES, agents_env
from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from lab.learning.environments.agents import AgentsEnv
from lab.learning.environments.one_policy import OnePolicyEnv, rules_total
from schemas.decision import Decision
from schemas.outcome import OutcomeReward
from services.agents.learned_observation import names_of

STEPS = 12
Policy = Callable[[Mapping[str, Any]], Mapping[str, int]]


@pytest.fixture
def make_env() -> Iterator[Callable[..., AgentsEnv]]:
    """Return what makes environments on a small full world, whose threads end with the test."""
    made: list[AgentsEnv] = []

    def make(**settings: Any) -> AgentsEnv:
        made.append(agents_env(nodes=4, workload="google2011", steps=STEPS, **settings))
        return made[-1]

    yield make
    for env in made:
        env.close()


def _play(env: AgentsEnv, numbers: Mapping[str, int]) -> list[tuple[Any, ...]]:
    """Play an episode with the same actions in each cycle; return what each step gave."""
    env.reset(seed=5)
    steps = []
    while env.agents:
        steps.append(env.step(numbers))
    return steps


NOTHING = {"A": 0, "B": 0, "C": 0}


def test_it_passes_pettingzoos_check(make_env: Callable[..., AgentsEnv]) -> None:
    """Three agents with four, five and five actions."""
    env = make_env()
    parallel_api_test(env, num_cycles=30)
    assert [int(env.action_space(name).n) for name in "ABC"] == [4, 5, 5]


@pytest.mark.parametrize(("variant", "numbers"), [("baseline", 6), ("full", 20)])
def test_all_three_see_the_same_numbers(
    make_env: Callable[..., AgentsEnv], variant: str, numbers: int
) -> None:
    """Six as the predecessors have them; more in the wider variant, which begins with the six."""
    env = make_env(variant=variant)
    seen, _ = env.reset(seed=5)
    assert seen["A"].shape == (numbers,) == (len(names_of(env._variant)),)
    assert all((seen[name] == seen["A"]).all() for name in "BC")
    assert env.observation_space("A").contains(seen["A"])


def test_equal_seeds_and_actions_give_equal_episodes(make_env: Callable[..., AgentsEnv]) -> None:
    """Rewards to the last bit."""
    first = [step[1] for step in _play(make_env(), NOTHING)]
    assert len(first) == STEPS
    assert first == [step[1] for step in _play(make_env(), NOTHING)]


def test_infos_hold_the_referees_word(make_env: Callable[..., AgentsEnv]) -> None:
    """What each proposed, who won and why, and why the others lost."""
    last = _play(make_env(), {"A": 3, "B": 3, "C": 0})[-1][4]
    assert last["A"]["resolved_action"] == last["A"]["proposal"] == "throttle"
    assert last["A"]["override_reason"] is None
    assert "lost to" in last["B"]["override_reason"]
    assert last["A"]["referee_rationale"] == last["C"]["referee_rationale"]


def _own_run(seed: int) -> tuple[list[str], Mapping[int, float]]:
    """Return what the product decides without anybody steering, and what the scoreboard pays for it."""
    kinds: dict[int, str] = {}
    rewards: dict[int, float] = {}

    def listen(event: Any) -> None:
        if isinstance(event.data, Decision):
            kinds[event.data.cycle] = event.data.action.full_kind
        elif isinstance(event.data, OutcomeReward) and event.data.observed is not None:
            rewards[event.data.cycle] = event.data.observed.total

    run = {"workload": "google2011", "nodes": 4, "speed": 1.0, "interval_seconds": 15.0, "seed": seed,
           "for_seconds": (STEPS + SPARE_CYCLES) * 15.0, "virtual_time": True, "mode": "active",
           "untouched": "off"}  # fmt: skip
    flags = {f"run.{name}": value for name, value in run.items()}
    settings = resolve(None, {}, {**flags, "agents.profile": PROFILE})
    run_virtual_stack(settings, quiet=True, listener=listen)
    cycles = sorted(kinds)[:STEPS]
    return [kinds[cycle] for cycle in cycles], rewards


def test_rules_and_learners_are_paid_on_one_scale(make_env: Callable[..., AgentsEnv]) -> None:
    """The predecessors' gate compared the learner's unweighted sum with the rules' weighted total (1.e.1).

    Here both are the scoreboard's weighted total, which is what `reward="total"` pays; the unweighted sum of the
    agents' own terms is another number, and no policy's total.
    """
    own, total = make_env(), make_env(reward="total")
    unweighted = fsum(value for step in _play(own, NOTHING) for value in step[1].values())
    weighted = fsum(step[1]["A"] for step in _play(total, NOTHING))
    assert own.episode_total == total.episode_total == pytest.approx(weighted)
    assert abs(unweighted - weighted) > 1.0
    weights = own._rewards[0].weights
    assert weights == {"safety": 1.0, "efficiency": 0.6, "admission": 0.8}
    parts = (
        fsum(one.observed.by_agent[name] for one in own._rewards if one.observed) * weight
        for name, weight in weights.items()
    )
    assert fsum(parts) == pytest.approx(own.episode_total)


def test_whoever_does_what_the_rules_want_gets_what_the_rules_get(
    make_env: Callable[..., AgentsEnv],
) -> None:
    """Referee, guard rails and outcomes are the product's: its own run decides and earns the same.

    Once nobody is told anything, so that all judge by their rules, and once they are told what these wanted.
    """
    env = make_env()
    told: list[Mapping[str, int]] = [{}] * STEPS
    for _ in range(2):
        env.reset(seed=5)
        rules, kinds = [], []
        while env.agents:
            infos = env.step(told[len(rules)])[4]
            rules.append({name: infos[name]["rule_action"] for name in "ABC"})
            kinds.append(infos["A"]["resolved_action"])
        _is_own_run(env, kinds)
        told = rules


def _is_own_run(env: AgentsEnv, kinds: list[str]) -> None:
    decided, paid = _own_run(5)
    assert len(set(decided)) > 1
    assert kinds == decided
    earned = {one.cycle: one.observed.total for one in env._rewards if one.observed is not None}
    assert len(earned) >= STEPS - 1
    assert earned == {cycle: paid[cycle] for cycle in earned}


@pytest.mark.filterwarnings("ignore:.*A Box observation space:UserWarning")
def test_one_policy_for_all_is_paid_as_the_rules_are(make_env: Callable[..., AgentsEnv]) -> None:
    """Its reward is the weighted sum of the agents' own, and the total of the rules is a mean over episodes."""
    weights = {"A": 2.0, "B": 0.0, "C": 1.0}
    env = OnePolicyEnv(make_env(), weights)
    check_env(env, skip_render_check=True)

    agents = make_env()
    agents.reset(seed=5)
    paid = [fsum(weights[name] * one for name, one in agents.step({})[1].items())]
    while agents.agents:
        paid.append(fsum(weights[name] * one for name, one in agents.step({})[1].items()))

    assert rules_total(lambda: env, [5, 5]) == pytest.approx(fsum(paid))
    assert fsum(paid) != 0.0


def test_a_world_that_cannot_be_played_says_so(make_env: Callable[..., AgentsEnv]) -> None:
    """Its error reaches whoever waits for the first cycle, instead of an endless wait."""
    env = make_env()

    def fail(seed: int, steering: object, listener: object) -> None:
        raise InputError("workload", "none", "give one")

    env._play = fail
    with pytest.raises(InputError, match="give one"):
        env.reset(seed=1)
