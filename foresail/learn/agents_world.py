"""The world of the three agents: a whole stack in virtual time, in which somebody else says what they propose."""

from __future__ import annotations

from typing import Any

from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from lab.learning.agents.steering import Listener, PlayWorld, Steering
from lab.learning.environments.agents import AgentsEnv
from services.agents.settings import AgentSettings

SPARE_CYCLES = 4
"""A world goes on so long behind an episode, so that its last step has an observation."""
PROFILE = "baseline-rules"


def world_player(
    *, workload: str = "openb", nodes: int = 6, cycles: int = 120, interval_seconds: float = 15.0
) -> PlayWorld:
    """Return what plays a world of so many cycles; the agents act in it, and their seeds are the world's."""
    run: dict[str, Any] = {
        "workload": workload,
        "nodes": nodes,
        "speed": 1.0,
        "interval_seconds": interval_seconds,
        "for_seconds": (cycles + SPARE_CYCLES) * interval_seconds,
        "virtual_time": True,
        "mode": "active",
        "untouched": "off",
    }

    def play(seed: int, steering: Steering, listener: Listener) -> None:
        flags = {f"run.{name}": value for name, value in {**run, "seed": seed}.items()}
        settings = resolve(None, {}, {**flags, "agents.profile": PROFILE})
        steering.settings = settings.agents
        run_virtual_stack(settings, quiet=True, listener=listener, instead=steering.instead)

    return play


def agents_env(**settings: Any) -> AgentsEnv:
    """Return `Foresail/Agents-v1`: `workload`, `nodes` and `steps` shape its worlds, all else goes to its class."""
    steps = settings.get("steps", 120)
    world = {name: settings.pop(name) for name in ("workload", "nodes") if name in settings}
    return AgentsEnv(world_player(cycles=steps, **world), settings=AgentSettings(), **settings)
