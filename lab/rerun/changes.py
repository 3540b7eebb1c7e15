"""Changes of a what-if, read from words: settings, models, a profile, the referee's rules."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bus.errors import ConfigError, InputError
from inputs.limited_files import BadFile, read_toml
from inputs.limited_json import BadJson, load_json
from schemas.agents import agent_names
from schemas.decision import RefereeRule
from services.agents.settings import AgentSettings
from services.agents.value_settings import ValueSettings
from services.collector.settings import CollectorSettings
from services.executor.settings import ExecutorSettings
from services.inference.settings import InferenceSettings
from services.model_folders import folder_of, read_manifest
from services.referee.rule import Rule
from services.referee.rules import RULES
from services.scoreboard.settings import ScoreboardSettings

Changes = dict[str, Any]
WINDOW_SECONDS = 900.0
"""A decision that comes so much later counts as the same; the executor remembers as long what may not be undone."""
ALWAYS = (RefereeRule.NO_PROPOSALS, RefereeRule.ALL_NOOP, RefereeRule.FIXED_ORDER)
"""Rules that no order can do without: they rule on what no other rule rules on."""
LAYER_OF = {
    "collector": "observation",
    "inference": "prediction",
    "agents": "proposal",
    "scoreboard": "outcome",
}
"""The first layer that a group of settings can change."""


def known_settings() -> tuple[str, ...]:
    """Return the full name of every setting that a re-run can change, the executor's in the twin."""
    names = [
        f"{group}.{field}"
        for group, kind in (
            ("collector", CollectorSettings),
            ("inference", InferenceSettings),
            ("agents", AgentSettings),
            ("scoreboard", ScoreboardSettings),
            ("executor", ExecutorSettings),
        )
        for field in kind.model_fields
        if field not in agent_names()
    ]
    defaults = AgentSettings()
    for agent in agent_names():
        fields = type(defaults.thresholds(agent)).model_fields
        names.extend(f"agents.{agent}.{field}" for field in fields)
    names.extend(f"agents.value.{field}" for field in ValueSettings.model_fields)
    return tuple(names)


def full_name(name: str) -> str:
    """Return the setting that a name means; `agents.safety.replicate` is short for its only match.

    Raises:
        ConfigError: it means none, or more than one.
    """
    known = known_settings()
    if name in known:
        return name
    matches = [known_name for known_name in known if known_name.startswith(f"{name}_")]
    if len(matches) == 1:
        return matches[0]
    near = matches or difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    which = f"use one of {', '.join(near)}" if near else "use a setting of " + ", ".join(LAYER_OF)
    raise ConfigError("--set", name, which)


def read_settings(assignments: Iterable[str]) -> Changes:
    """Return changes from `name=value` words.

    Raises:
        ConfigError: no `=`, or no such setting.
    """
    changes: Changes = {}
    for word in assignments:
        name, sign, text = word.partition("=")
        if not sign:
            raise ConfigError("--set", word, "write it as agents.safety.replicate=0.9")
        changes[full_name(name.strip())] = value_of(text.strip())
    return changes


def value_of(text: str) -> Any:
    """Return a value written as JSON, or else the text itself."""
    try:
        return load_json(text)
    except BadJson:
        return text


def model_changes(folders: Iterable[str]) -> Changes:
    """Return the changes that let models predict; what each predicts stands in its manifest.

    Raises:
        InputError: there is no such model, or two of one kind.
    """
    changes: Changes = {}
    for folder in folders:
        kind = read_manifest(folder_of(folder)).kind
        field = "inference.model" if kind == "risk" else "inference.demand_model"
        if field in changes:
            raise InputError("--model", folder, f"give one {kind} model")
        changes[field] = folder
    return changes


def profile_changes(profile: str | None, changes: Mapping[str, Any]) -> Changes:
    """Return the changes of a policy profile; `forecast` takes its thresholds from the models given."""
    if profile is None:
        return {}
    made: Changes = {"agents.profile": profile}
    if "inference.model" in changes:
        made["agents.risk_model"] = changes["inference.model"]
    if "inference.demand_model" in changes:
        made["agents.demand_model"] = changes["inference.demand_model"]
    return made


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Return the referee's rules in the order that a TOML file gives: `order = ["all_noop", ...]`.

    Raises:
        InputError: it cannot be read, names an unknown rule, or leaves out one that must be there.
    """
    try:
        content = read_toml(path)
    except OSError as error:
        raise InputError(
            "--rules", path, f"give a file that can be read ({error.strerror})"
        ) from error
    except BadFile as error:
        raise InputError("--rules", path, f"write it as TOML ({error})") from error
    by_name = {rule.name.value: rule for rule in RULES}
    order = content.get("order")
    if not isinstance(order, list) or not order or not all(isinstance(name, str) for name in order):
        raise InputError("--rules", path, f'write order = ["{RULES[0].name}", ...]')
    unknown = [name for name in order if name not in by_name]
    if unknown:
        raise InputError("--rules", unknown[0], f"use {', '.join(by_name)}")
    twice = [name for number, name in enumerate(order) if name in order[:number]]
    missing = [rule.value for rule in ALWAYS if rule.value not in order]
    if twice or missing:
        what = f"name {twice[0]} once" if twice else f"{missing[0]} must be among them"
        raise InputError("--rules", path, what)
    return tuple(by_name[name] for name in order)


def first_layer(changes: Mapping[str, Any], layers: Sequence[str], *, rules: bool) -> str:
    """Return the first layer that can come out differently; the agents' when nothing is changed.

    Raises:
        ConfigError: a change that only a cluster can answer.
    """
    acting = next((name for name in changes if name.startswith("executor.")), None)
    if acting is not None:
        raise ConfigError(
            acting, changes[acting], "what executions do shows only with --plant twin"
        )
    touched = {LAYER_OF[name.partition(".")[0]] for name in changes}
    if rules:
        touched.add("decision")
    return next((layer for layer in layers if layer in touched), "proposal")
