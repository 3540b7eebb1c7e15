"""Policy profiles as data: named sets of thresholds.

`seed` is the seed's formula and thresholds exactly. `forecast` belongs to a trained model: its
thresholds are derived from action budgets and come with the model's manifest, so without a model it
is refused instead of being filled with numbers nobody measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from bus.errors import ConfigError
from schemas.actions import Agent
from services.agents.thresholds import (
    AdmissionThresholds,
    EfficiencyThresholds,
    SafetyThresholds,
    Thresholds,
)


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of thresholds."""

    name: str
    text: str
    """What it is, in one sentence."""
    thresholds: Mapping[Agent, Thresholds] | None
    """None: they come from a model's manifest."""


SEED = Profile(
    name="seed",
    text="the seed formula's thresholds, exactly",
    thresholds={
        Agent.SAFETY: SafetyThresholds(),
        Agent.EFFICIENCY: EfficiencyThresholds(),
        Agent.ADMISSION: AdmissionThresholds(),
    },
)
FORECAST = Profile(
    name="forecast",
    text="a trained model's thresholds by action budget, from its manifest",
    thresholds=None,
)
PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in (SEED, FORECAST)}


def published_name(profile: str, given: Iterable[Thresholds]) -> str:
    """Return the profile's name as proposals carry it.

    Thresholds that differ from it make it `<name>+changed`.
    """
    known = PROFILES[profile].thresholds or {}
    differs = any(thresholds not in known.values() for thresholds in given)
    return f"{profile}+changed" if differs else profile


def check_profile(name: str) -> None:
    """Refuse a profile that does not exist or has no thresholds yet.

    Raises:
        ConfigError: naming the profile and what to use.
    """
    profile = PROFILES.get(name)
    usable = ", ".join(sorted(one.name for one in PROFILES.values() if one.thresholds is not None))
    if profile is None:
        raise ConfigError("agents.profile", name, f"use one of: {usable}")
    if profile.thresholds is None:
        why = "its thresholds come from a trained model's manifest and no model is installed"
        raise ConfigError("agents.profile", name, f"{why}; use {usable}")


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
