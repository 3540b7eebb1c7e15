"""Settings of the whole stack: typed groups from defaults, file, environment and flags, each value
with its origin.

A later source wins: default, then file (TOML, one table per group), then environment
(`FORESAIL_<GROUP>__<FIELD>`), then flags. Unknown keys are errors, and everything is validated
before the first process starts.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bus.errors import ConfigError
from bus.limited_files import BadFile, read_toml
from features.baseline import MODEL_ID
from foresail.flags import FLAG_OF
from foresail.run_settings import NatsSettings, RunSettings
from schemas.model import DataModel
from services.agents.settings import AgentSettings
from services.collector.settings import CollectorSettings
from services.dashboard.settings import DashboardSettings
from services.executor.settings import ExecutorSettings
from services.exerciser.settings import ExerciserSettings
from services.inference.settings import InferenceSettings
from services.referee.settings import RefereeSettings
from services.scoreboard.settings import ScoreboardSettings

GROUPS: Mapping[str, type[DataModel]] = {
    "run": RunSettings,
    "nats": NatsSettings,
    "collector": CollectorSettings,
    "inference": InferenceSettings,
    "agents": AgentSettings,
    "referee": RefereeSettings,
    "executor": ExecutorSettings,
    "scoreboard": ScoreboardSettings,
    "exerciser": ExerciserSettings,
    "dashboard": DashboardSettings,
}
PREFIX = "FORESAIL_"
DATA_VARIABLE = "FORESAIL_DATA"


@dataclass(frozen=True)
class Value:
    """One given value and where it came from."""

    value: Any
    origin: str


@dataclass(frozen=True)
class StackSettings:
    """Every group, and the origin of every value that is not a default."""

    groups: Mapping[str, DataModel]
    origins: Mapping[str, str]

    @property
    def run(self) -> RunSettings:
        """The run's own settings."""
        group = self.groups["run"]
        assert isinstance(group, RunSettings)
        return group

    @property
    def nats(self) -> NatsSettings:
        """The log's settings."""
        group = self.groups["nats"]
        assert isinstance(group, NatsSettings)
        return group

    def lines(self) -> list[str]:
        """Return one line per value that is not a default: name, value, origin."""
        return [
            f"{name} = {_shown(self._value(name))}  ({origin})"
            for name, origin in self.origins.items()
        ]

    def _value(self, name: str) -> Any:
        group, field = name.split(".", 1)
        return getattr(self.groups[group], field)


def resolve(
    file: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]
) -> StackSettings:
    """Merge all sources and validate.

    Args:
        file: a TOML file, or None.
        environment: the process' environment.
        flags: `group.field` to value; None values were not given.

    Raises:
        ConfigError: an unknown key, a value out of range, or a file that cannot be read.
    """
    given: dict[str, Value] = {}
    given.update(_from_file(file))
    given.update(_from_environment(environment))
    given.update(
        {
            name: Value(value, f"flag {_flag(name)}")
            for name, value in flags.items()
            if value is not None
        }
    )
    filled = {**_models_of_agents(given), **given}
    groups = {name: _build(name, kind, filled) for name, kind in GROUPS.items()}
    return StackSettings(groups, {name: value.origin for name, value in sorted(given.items())})


def _models_of_agents(given: Mapping[str, Value]) -> dict[str, Value]:
    """Return the models whose thresholds the agents take: those that predict, unless told otherwise."""
    pairs = {
        "agents.risk_model": "inference.model",
        "agents.demand_model": "inference.demand_model",
    }
    found = {own: given[name] for own, name in pairs.items() if name in given}
    return {own: one for own, one in found.items() if one.value != MODEL_ID}


def _from_file(file: Path | None) -> dict[str, Value]:
    if file is None:
        return {}
    try:
        content = read_toml(file)
    except OSError as error:
        raise ConfigError(
            "--config", str(file), f"give a file that can be read ({error.strerror})"
        ) from error
    except BadFile as error:
        raise ConfigError("--config", str(file), f"write it as TOML ({error})") from error
    found: dict[str, Value] = {}
    for group, table in content.items():
        if group not in GROUPS or not isinstance(table, dict):
            raise ConfigError(
                f"[{group}]", file.name, f"use one of the groups {_near(group, GROUPS)}"
            )
        for field, value in table.items():
            found[_known(group, field, value, f"in {file.name}")] = Value(
                value, f"file {file.name}"
            )
    return found


def _from_environment(environment: Mapping[str, str]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for variable, text in sorted(environment.items()):
        if variable == DATA_VARIABLE and text:
            found["run.data"] = Value(text, f"environment {variable}")
        if not variable.startswith(PREFIX) or "__" not in variable:
            continue
        group, _, field = variable[len(PREFIX) :].lower().partition("__")
        if group not in GROUPS:
            raise ConfigError(variable, text, f"use one of the groups {_near(group, GROUPS)}")
        name = _known(group, field, text, "in the environment")
        found[name] = Value(_parsed(GROUPS[group], field, text), f"environment {variable}")
    return found


def _parsed(kind: type[DataModel], field: str, text: str) -> Any:
    """Read an environment value as JSON where the field is no plain text (lists, numbers), else as
    it is.
    """
    annotation: Any = kind.model_fields[field].annotation
    try:
        return TypeAdapter(annotation).validate_json(text)
    except ValidationError:
        return text


def _known(group: str, field: str, value: Any, where: str) -> str:
    fields = GROUPS[group].model_fields
    if field not in fields:
        raise ConfigError(
            f"{group}.{field}",
            f"{value!r} {where}",
            f"unknown key; did you mean {_near(field, fields)}?",
        )
    return f"{group}.{field}"


def _near(word: str, known: Mapping[str, Any]) -> str:
    return ", ".join(difflib.get_close_matches(word, known, n=3, cutoff=0.4) or sorted(known))


def _build(name: str, kind: type[DataModel], given: Mapping[str, Value]) -> DataModel:
    fields = {
        key.split(".", 1)[1]: value.value
        for key, value in given.items()
        if key.split(".", 1)[0] == name
    }
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join([name, *(str(part) for part in first["loc"])])
        origin = given[location].origin if location in given else "settings"
        shown = (
            first["input"] if first["loc"] else ", ".join(f"{k}={v!r}" for k, v in fields.items())
        )
        raise ConfigError(
            location, shown, f"{first['msg'].removeprefix('Value error, ')} ({origin})"
        ) from error


def _flag(name: str) -> str:
    return FLAG_OF.get(name, name)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)
