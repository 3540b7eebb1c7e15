"""Which agents there are: every folder of `services/agents/` that registers one.

The folders are read once a process. They are imported by their path and not by their name, so no
file has to be edited for a new one.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable
from functools import lru_cache
from types import ModuleType

from agent_registry.registration import AgentRegistration, AnyAgent
from schemas.actions import AGENT_NAME, Action

PARENT = "services.agents"
ORIGINAL = ("safety", "efficiency", "admission")
"""The agents of the baseline systems, by letter. Texts and scales that name no agent mean these three, as
recordings from before the registry do.
"""
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_AFTER_ALL = 1_000_000
"""Place in the referee's order of an agent that is not registered here."""


class BadRegistration(ValueError):
    """A folder does not register an agent that can be used; names the folder, the field and a remedy."""

    def __init__(self, folder: str, field: str, value: object, remedy: str) -> None:
        """Say what is wrong in `services/agents/<folder>`."""
        self.field = f"services/agents/{folder}: {field}"
        self.value = value
        self.remedy = remedy
        super().__init__(f"{self.field} = {value!r}: {remedy}")


@lru_cache(maxsize=1)
def registered_agents() -> tuple[AnyAgent, ...]:
    """Return every agent, by letter.

    Raises:
        BadRegistration: a folder without a usable registration.
    """
    parent = importlib.import_module(PARENT)
    folders = sorted(
        module_info.name
        for module_info in pkgutil.iter_modules(parent.__path__)
        if module_info.ispkg
    )
    return check_registrations(
        (name, _registration_in(importlib.import_module(f"{PARENT}.{name}"))) for name in folders
    )


def check_registrations(registrations: Iterable[tuple[str, AnyAgent]]) -> tuple[AnyAgent, ...]:
    """Return registrations by letter, after seeing that they can stand beside one another.

    Args:
        registrations: folder names with what each registers.

    Raises:
        BadRegistration: a name, letter, order or colour that cannot be used, or that two have.
    """
    agents: list[AnyAgent] = []
    for folder, agent in registrations:
        _check(folder, agent)
        for other in agents:
            for field in ("letter", "order"):
                if getattr(other, field) == getattr(agent, field):
                    raise BadRegistration(
                        folder, field, getattr(agent, field), f"{other.name} has it already"
                    )
        agents.append(agent)
    return tuple(sorted(agents, key=lambda agent: agent.letter))


def agent_names() -> tuple[str, ...]:
    """Return the names of every agent, by letter."""
    return tuple(agent.name for agent in registered_agents())


def names_in_referee_order() -> tuple[str, ...]:
    """Return the names of every agent in the referee's fixed order."""
    return tuple(sorted(agent_names(), key=referee_place))


@lru_cache(maxsize=1)
def agents_by_name() -> dict[str, AnyAgent]:
    """Return every agent by its name."""
    return {agent.name: agent for agent in registered_agents()}


def referee_place(name: str) -> tuple[int, str]:
    """Return the sort key of the fixed order; agents that are not registered come last, by name."""
    agent = agents_by_name().get(name)
    return (_AFTER_ALL if agent is None else agent.order, name)


def letter_of(name: str) -> str:
    """Return an agent's letter, or its name where it is not registered (another's recording)."""
    agent = agents_by_name().get(name)
    return name if agent is None else agent.letter


def action_label(action: Action) -> str:
    """Return an action with its agent: `AgentA:replicate`, `AgentC:admission:queue`, `Referee:noop`."""
    who = "Referee" if action.agent is None else f"Agent{letter_of(action.agent)}"
    return f"{who}:{action.full_kind}"


def _registration_in(module: ModuleType) -> AnyAgent:
    agent = getattr(module, "AGENT", None)
    if not isinstance(agent, AgentRegistration):
        folder = module.__name__.rpartition(".")[2]
        raise BadRegistration(folder, "AGENT", agent, "set it to an AgentRegistration")
    return agent


def _check(folder: str, agent: AnyAgent) -> None:
    if agent.name != folder:
        raise BadRegistration(folder, "name", agent.name, f"use the folder's name, {folder}")
    if not AGENT_NAME.fullmatch(agent.name):
        raise BadRegistration(folder, "name", agent.name, f"write it as {AGENT_NAME.pattern}")
    if not (len(agent.letter) == 1 and agent.letter.isascii() and agent.letter.isupper()):
        raise BadRegistration(folder, "letter", agent.letter, "use one capital letter")
    if agent.letter == "R":
        raise BadRegistration(folder, "letter", agent.letter, "use another one; R is the referee")
    if agent.order < 1:
        raise BadRegistration(folder, "order", agent.order, "use a number from 1 on")
    for field in ("colour", "dark_colour"):
        if not _COLOUR.fullmatch(getattr(agent, field)):
            raise BadRegistration(
                folder, field, getattr(agent, field), "write it as #rrggbb in lowercase"
            )
