"""The profile `random`: every action of an agent by chance, the same again from the same seed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bus.errors import ConfigError
from foresail.settings import resolve
from foresail.stack.real_cluster import check_namespaces_named
from lab.rerun.settings import agent_settings
from schemas.actions import AgentName
from schemas.config import Config
from schemas.view import ObservationView, update_view
from services.agents.policy import NodePrediction
from services.agents.random_choice import by_chance
from services.agents.registry import agents_by_name
from services.agents.settings import AgentSettings
from tests.builders import make_observation, stamp_event

NO_PREDICTION = NodePrediction(id="", cycle=0, model_id="")
EXPECTED = {
    "safety": {"noop", "replicate", "migrate", "throttle"},
    "efficiency": {"noop", "power_state:sleep", "power_state:on", "dvfs", "memory_balloon"},
    "admission": {
        "noop",
        *(f"admission:{word}" for word in ("admit", "queue", "deprioritize", "reject")),
        "resource_cap",
    },
}


def _view(cycle: int) -> ObservationView:
    view = update_view(None, stamp_event(make_observation(3, cycle=cycle)))
    assert view is not None
    return view


def _drawn(agent: AgentName, seed: int, cycles: int = 60) -> list[tuple[str, str]]:
    drawing = by_chance(agents_by_name()[agent], seed)
    assert drawing.manifest.prediction is None
    judged = [
        drawing.code.judge(_view(cycle), NO_PREDICTION, drawing.code.thresholds())
        for cycle in range(1, cycles + 1)
    ]
    return [(one.action.full_kind, one.action.target.name) for one in judged]


@pytest.mark.parametrize("agent", list(EXPECTED))
def test_every_action_of_the_agent_is_drawn_and_no_other(agent: AgentName) -> None:
    """Sixty cycles show each of its actions, doing nothing among them, on more than one node."""
    drawn = _drawn(agent, 1)
    assert {kind for kind, _ in drawn} == EXPECTED[agent]
    assert len({name for _, name in drawn if name.startswith("node")}) > 1


def test_the_seed_decides() -> None:
    """The same seed gives the same proposals; another seed, or another agent, others."""
    assert _drawn("safety", 1) == _drawn("safety", 1)
    assert _drawn("safety", 1) != _drawn("safety", 2)


def test_an_agent_without_choices_draws_nothing() -> None:
    """An agent that does not say what it may want wants nothing."""
    safety = agents_by_name()["safety"]
    silent = by_chance(replace(safety, code=replace(safety.code, choices=None)), 1)
    judged = silent.code.judge(_view(1), NO_PREDICTION, silent.code.thresholds())
    assert judged.action.full_kind == "noop"


def test_a_recording_says_what_was_drawn_from() -> None:
    """The announcement holds the seed, and a re-run takes it from there."""
    announced = AgentSettings(profile="random", random_seed=5).announcement("safety")
    config = Config(process="agent-safety", settings=announced, config_hash="", code_version="")
    assert agent_settings("safety", config, {}).random_seed == 5
    assert "random_seed" not in AgentSettings().announcement("safety")


def test_nobodys_own_cluster_is_changed_by_chance() -> None:
    """With a kubeconfig and active mode the profile is refused before anything starts."""
    flags = {"run.kubeconfig": "config", "run.mode": "active", "run.namespaces": ("shop",)}
    with pytest.raises(ConfigError, match="--profile = random: it acts by chance"):
        check_namespaces_named(resolve(None, {}, {**flags, "agents.profile": "random"}))
