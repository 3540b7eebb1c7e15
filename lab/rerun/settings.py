"""The settings of a process, from its recorded announcement, with the changes of a what-if on top."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from bus.errors import ConfigError, InputError
from schemas.actions import AgentName
from schemas.config import Config
from schemas.model import DataModel
from services.agents.settings import AgentSettings

S = TypeVar("S", bound=DataModel)
Changes = Mapping[str, Any]
"""`group.field`, `agents.<agent>.<field>` or `agents.value.<field>` to the value that it shall have."""
NO_CHANGES: Changes = {}
BEFORE_THERE_WERE: Mapping[str, Changes] = {
    "inference": {
        "demand_bands": False,
        "rate_model": "",
        "workload_history": False,
        "replica_capacity": False,
        "size_rule": "percentile",
    },
    "scoreboard": {"foresight": {"enabled": False}, "mismatch": {"enabled": False}},
}
"""What a recording meant that announces no such settings."""


def settings_from(kind: type[S], group: str, config: Config, changes: Changes) -> S:
    """Return a service's settings as announced, with changes.

    Raises:
        InputError: the announcement is not what today's code understands.
        ConfigError: a change names no setting or a value that it cannot have.
    """
    known = {name: value for name, value in config.settings.items() if name in kind.model_fields}
    values = {**BEFORE_THERE_WERE.get(group, {}), **known, **_of_group(group, changes)}
    return validate_settings(kind, group, values, changes)


def agent_settings(agent: AgentName, config: Config, changes: Changes) -> AgentSettings:
    """Return an agent's settings as announced, with changes.

    Raises:
        InputError: the announcement is not what today's code understands.
        ConfigError: a change names no setting or a value that it cannot have.
    """
    settings = config.settings
    top = {
        name.partition(".")[2]: value
        for name, value in changes.items()
        if name.startswith("agents.") and name.count(".") == 1
    }
    try:
        values = {
            "profile": settings["profile"].removesuffix("+changed"),
            "model_thresholds": settings.get("model_thresholds", {}),
            "random_seed": settings.get("random_seed", 0),
            # Before there was a draw nothing was left untouched, before there were forecasts none was waited for, and
            # before there were marks no machine got one.
            "value": {
                "untouched_ratio": 0.0,
                "forecast": False,
                "marks": False,
                **settings.get("value", {}),
            },
            "learned": settings.get("learned", {}),
            agent: settings["thresholds"],
            "signal_limit_intervals": settings["signal_limit_intervals"],
        }
    except (KeyError, AttributeError, TypeError) as error:
        raise InputError("recording", config.process, f"its settings lack {error}") from error
    if {"profile", "risk_model", "demand_model"} & top.keys():
        # Another profile or model brings thresholds of its own.
        values[agent], values["model_thresholds"] = {}, {}
    values[agent] = {**values[agent], **_inside(agent, changes)}
    values["value"] = {**values["value"], **_inside("value", changes)}
    return validate_settings(AgentSettings, "agents", {**values, **top}, changes)


def validate_settings(kind: type[S], group: str, values: Mapping[str, Any], changes: Changes) -> S:
    """Build settings; what does not fit is one line.

    Raises:
        InputError: what was recorded does not fit.
        ConfigError: what was changed does not fit.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join((group, *(str(part) for part in first["loc"])))
        remedy = first["msg"].removeprefix("Value error, ")
        if any(changed.startswith(f"{group}.") for changed in changes):
            raise ConfigError(name, first["input"], remedy) from error
        raise InputError(f"recording: {name}", first["input"], remedy) from error


def _of_group(group: str, changes: Changes) -> dict[str, Any]:
    return {
        name.partition(".")[2]: value
        for name, value in changes.items()
        if name.startswith(f"{group}.")
    }


def _inside(table: str, changes: Changes) -> dict[str, Any]:
    """Return the changes inside one table of the agents' settings."""
    prefix = f"agents.{table}."
    return {
        name.removeprefix(prefix): value
        for name, value in changes.items()
        if name.startswith(prefix)
    }
