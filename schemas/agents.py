"""Which agents there are, and what everybody may know of one: the `agent.toml` of each folder in `services/agents/`.

Processes, identities, the referee's order, letters and colours follow from these files (docs/adr/0014). They are data,
so that read models know an agent's letter without importing its policy. The code beside each file is found
by `services.agents.registry`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from schemas.actions import AGENT_NAME, Action, AgentName
from schemas.model import DataModel

FOLDER = Path(__file__).parents[1] / "services" / "agents"
MANIFEST = "agent.toml"
ORIGINAL = ("safety", "efficiency", "admission")
"""The agents of the baseline systems, by letter. Texts and scales that name no agent mean these three, as
recordings from before the registry do.
"""
_AFTER_ALL = 1_000_000
"""Place in the referee's order of an agent that is not registered here."""
_REMEDIES = {
    "name": f"write it as {AGENT_NAME.pattern}",
    "letter": "use one capital letter, not R, which is the referee's",
    "order": "use a number from 1 on",
    "colour": "write it as #rrggbb in lowercase",
    "dark_colour": "write it as #rrggbb in lowercase",
}
"""By field, where the remedy is not pydantic's own sentence."""
_COLOUR = "^#[0-9a-f]{6}$"


class AgentManifest(DataModel):
    """One agent, as others know it."""

    name: AgentName
    """Its folder; the last token of `proposal.<name>`, and its table under `[agents]`. Not written in the file."""
    letter: str = Field(pattern="^[A-QS-Z]$")
    """One capital letter, shown to people."""
    order: int = Field(ge=1)
    """Its place in the referee's fixed order; 1 is tried first. Proposals carry it as `priority`."""
    purpose: str
    """What it is for, as the end of a sentence: `keeps workloads alive`."""
    colour: str = Field(pattern=_COLOUR)
    """Its colour on a light page, `#rrggbb`."""
    dark_colour: str = Field(pattern=_COLOUR)
    """Its colour on a dark page."""
    prediction: Literal["risk", "demand"] | None = None
    """The prediction it waits for under profiles with thresholds; None when it judges the observation alone."""
    reward_weight: float = Field(default=1.0, ge=0)
    """Default weight of its reward in the total."""
    preempts: frozenset[str] = frozenset()
    """Kinds of action (`Action.full_kind`) with which it wins over everything, whatever the scores."""
    protects: frozenset[str] = frozenset()
    """Kinds of action with which it wins over actions that only save."""
    must_see: bool = False
    """Whether nothing is done, rather than merely admitted, in a cycle that it could not judge."""


class BadRegistration(ValueError):
    """A folder does not register an agent that can be used; names the folder, the field and a remedy."""

    def __init__(self, folder: str, field: str, value: object, remedy: str) -> None:
        """Say what is wrong in `services/agents/<folder>`."""
        self.field = f"services/agents/{folder}: {field}"
        self.value = value
        self.remedy = remedy
        super().__init__(f"{self.field} = {value!r}: {remedy}")


@lru_cache(maxsize=1)
def agent_manifests() -> Mapping[str, AgentManifest]:
    """Return every agent by its name, in the order of the letters.

    Raises:
        BadRegistration: a folder without a usable manifest, or two that cannot stand beside one another.
    """
    folders = sorted(path.parent for path in FOLDER.glob("*/__init__.py"))
    return check_manifests(read_manifest(folder) for folder in folders)


def read_manifest(folder: Path) -> AgentManifest:
    """Return the manifest in an agent's folder.

    Raises:
        BadRegistration: it is missing, is no TOML, or a field cannot be used.
    """
    try:
        given = tomllib.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        remedy = "write one as docs/add-an-agent.md says"
        raise BadRegistration(folder.name, MANIFEST, why, remedy) from error
    return manifest_of(folder.name, given)


def manifest_of(name: str, given: Mapping[str, Any]) -> AgentManifest:
    """Return the manifest of the agent in the folder `name` from the fields of its file.

    Raises:
        BadRegistration: a field is missing, unknown, or has a value that it cannot have.
    """
    try:
        return AgentManifest(**{**given, "name": name})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        value = None if first["type"] == "missing" else first["input"]
        raise BadRegistration(name, field, value, _REMEDIES.get(field, first["msg"])) from error


def check_manifests(manifests: Iterable[AgentManifest]) -> dict[str, AgentManifest]:
    """Return manifests by name, in the order of the letters, after seeing that none shares its letter or order.

    Raises:
        BadRegistration: naming the second of two that have the same.
    """
    agents: list[AgentManifest] = []
    for agent in manifests:
        for other in agents:
            for field in ("letter", "order"):
                if getattr(other, field) == getattr(agent, field):
                    remedy = f"{other.name} has it already"
                    raise BadRegistration(agent.name, field, getattr(agent, field), remedy)
        agents.append(agent)
    return {agent.name: agent for agent in sorted(agents, key=lambda agent: agent.letter)}


def agent_names() -> tuple[str, ...]:
    """Return the names of every agent, by letter."""
    return tuple(agent_manifests())


def names_in_referee_order() -> tuple[str, ...]:
    """Return the names of every agent in the referee's fixed order."""
    return tuple(sorted(agent_names(), key=referee_place))


def referee_place(name: str) -> tuple[int, str]:
    """Return the sort key of the fixed order; agents that are not registered come last, by name."""
    agent = agent_manifests().get(name)
    return (_AFTER_ALL if agent is None else agent.order, name)


def letter_of(name: str) -> str:
    """Return an agent's letter, or its name where it is not registered (another's recording)."""
    agent = agent_manifests().get(name)
    return name if agent is None else agent.letter


def action_label(action: Action) -> str:
    """Return an action with its agent: `AgentA:replicate`, `AgentC:admission:queue`, `Referee:noop`."""
    who = "Referee" if action.agent is None else f"Agent{letter_of(action.agent)}"
    return f"{who}:{action.full_kind}"
