"""Policy profiles as data: named sets of thresholds.

`baseline-rules` holds the thresholds of the systems that Foresail grew from, exactly; files and
recordings from before it was called so say `seed`, and events carry the name that the settings say.
`forecast` belongs to trained models: their manifests hold thresholds that follow from action budgets
(safety: the risk model's, efficiency: the demand model's). An agent whose number no trained model
predicts keeps the baseline's thresholds, so `forecast` without any model is refused instead of being
filled with numbers nobody measured. `random` draws its proposals (`services.agents.random_choice`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from pydantic import ValidationError

from bus.errors import ConfigError
from schemas.actions import AgentName
from services.agents.registry import agents_by_name
from services.agents.thresholds import Thresholds
from services.model_folders import folder_of, read_manifest


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of thresholds."""

    name: str
    text: str
    """What it is, in one sentence."""
    thresholds: Mapping[AgentName, Thresholds] | None
    """None: they come from a model's manifest."""


BASELINE_RULES = Profile(
    name="baseline-rules",
    text="the baseline formula's thresholds, exactly",
    thresholds={name: agent.code.thresholds() for name, agent in agents_by_name().items()},
)
FORECAST = Profile(
    name="forecast",
    text="a trained model's thresholds by action budget, from its manifest",
    thresholds=None,
)
RANDOM = Profile(
    name="random",
    text="proposals by chance, to measure what rules add; for simulated clusters alone",
    thresholds=BASELINE_RULES.thresholds,
)
FORESAIL = Profile(
    name="foresail",
    text="expected value in the outcome score's money; doing nothing is always a candidate",
    thresholds=BASELINE_RULES.thresholds,
)
PROFILES: Mapping[str, Profile] = {
    profile.name: profile for profile in (BASELINE_RULES, FORECAST, RANDOM, FORESAIL)
}
ALIASES: Mapping[str, str] = {"seed": BASELINE_RULES.name}
"""Earlier names of profiles; they stay in recordings, and in files that name them."""
ModelThresholds = Mapping[str, Mapping[str, float]]
"""By agent and field, as manifests give them."""


def _find_profile(name: str) -> Profile | None:
    return PROFILES.get(ALIASES.get(name, name))


def published_name(
    profile: str, by_model: ModelThresholds, thresholds_in_use: Iterable[Thresholds]
) -> str:
    """Return the profile's name as proposals carry it.

    Thresholds that differ from it make it `<name>+changed`.
    """
    named = _find_profile(profile)
    known = (named.thresholds if named else None) or of_models(by_model)
    differs = any(thresholds not in known.values() for thresholds in thresholds_in_use)
    return f"{profile}+changed" if differs else profile


def of_models(by_model: ModelThresholds) -> Mapping[AgentName, Thresholds]:
    """Return every agent's thresholds under profile `forecast`.

    Raises:
        ConfigError: a manifest names a threshold that the agent does not have, or a value that it
            cannot have.
    """
    by_agent: dict[AgentName, Thresholds] = {}
    for agent, usual in (BASELINE_RULES.thresholds or {}).items():
        try:
            by_agent[agent] = type(usual).model_validate(dict(by_model.get(agent, {})))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            field = f"model thresholds of {agent}: {where}"
            raise ConfigError(field, first["input"], first["msg"]) from error
    return by_agent


def model_thresholds(*references: str) -> dict[str, dict[str, float]]:
    """Return the thresholds in the manifests of some models; an empty reference is no model.

    Raises:
        InputError: there is no such model, or its manifest cannot be used.
    """
    by_agent: dict[str, dict[str, float]] = {}
    for reference in references:
        if reference:
            manifest = read_manifest(folder_of(reference))
            by_agent |= {agent: dict(fields) for agent, fields in manifest.thresholds.items()}
    return by_agent


def check_profile(name: str, by_model: ModelThresholds) -> None:
    """Refuse a profile that does not exist or has no thresholds.

    Raises:
        ConfigError: naming the profile and what to use.
    """
    profile = _find_profile(name)
    if profile is None:
        usable = ", ".join(sorted(PROFILES))
        raise ConfigError("agents.profile", name, f"use one of: {usable}")
    if profile.thresholds is None and not by_model:
        why = "its thresholds come from a trained model's manifest"
        raise ConfigError(
            "agents.profile",
            name,
            f"{why}; name one as agents.risk_model, or use {BASELINE_RULES.name}",
        )


def check_order(group: str, thresholds: Thresholds) -> None:
    """Refuse thresholds of which one would hide another.

    Raises:
        ConfigError: naming the first field out of order, its value and the bound.
    """
    chains = [(chain, "below") for chain in thresholds.DESCENDING]
    chains += [(chain, "above") for chain in thresholds.ASCENDING]
    for chain, word in chains:
        for before, field in pairwise(chain):
            bound, value = getattr(thresholds, before), getattr(thresholds, field)
            if not (value < bound if word == "below" else value > bound):
                raise ConfigError(f"{group}.{field}", value, f"set it {word} {before} ({bound:g})")
