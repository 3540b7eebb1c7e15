"""Every agent with its code. What others know of an agent, `schemas.agents` says without its code.

An agent's folder is imported by its path and named nowhere, so that no file is edited for a new one.
"""

from __future__ import annotations

import importlib
from functools import lru_cache

from schemas.agents import AgentManifest, BadRegistration, agent_manifests
from services.agents.registration import Agent, AgentRegistration


@lru_cache(maxsize=1)
def agents_by_name() -> dict[str, Agent]:
    """Return every agent by its name, in the order of the letters.

    Raises:
        BadRegistration: a folder without a usable registration.
    """
    return {name: _agent_of(manifest) for name, manifest in agent_manifests().items()}


def _agent_of(manifest: AgentManifest) -> Agent:
    module = importlib.import_module(f"services.agents.{manifest.name}")
    code = getattr(module, "AGENT", None)
    if not isinstance(code, AgentRegistration):
        raise BadRegistration(manifest.name, "AGENT", code, "set it to an AgentRegistration")
    return Agent(manifest, code)
