"""Where the stack's settings come from, as sources of pydantic-settings that note each value's origin.

pydantic-settings keeps no origins itself, skips names that it does not know, and merges tables of
several sources into one another. Here each value has an origin, an unknown name is an error with the
near ones, and the first source that gives a field gives all of it: a table of weights in the
environment replaces the one in the file.
"""

from __future__ import annotations

import difflib
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from bus.errors import ConfigError
from features.baseline import MODEL_ID
from foresail.flags import FLAG_OF
from inputs.limited_files import BadFile, read_toml
from inputs.plain_numbers import parse_number

PREFIX = "FORESAIL_"
DATA_VARIABLE = "FORESAIL_DATA"
MODEL_OF_THRESHOLDS: Mapping[str, str] = {
    "risk_model": "model",
    "demand_model": "demand_model",
}
"""Which model of inference gives the agents their thresholds, by the agents' setting."""


BOOSTER = "xgboost"
WITHOUT_BOOSTER: tuple[tuple[str, Any, str], ...] = (
    ("inference.shadow_models", (), "the formula predicts alone"),
    ("inference.rate_model", "", "the simple rules of each minute make the bands"),
)
"""Settings of inference whose defaults need the library, what takes their place, and what that means."""


class GivenValue(NamedTuple):
    """One value and where it was given."""

    value: Any
    origin: str
    """Empty: nobody gave it, it follows from another setting."""


class SourceWithOrigins(PydanticBaseSettingsSource):
    """A source of whole fields that notes where each one was given."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        """Be a source of these settings, each of whose fields is a group."""
        super().__init__(settings_cls)
        self.origins: dict[str, str] = {}
        """Of each field that this source decided, by `group.field`; filled by the call."""

    @abstractmethod
    def read(self) -> Mapping[str, GivenValue]:
        """Return what is given here, by `group.field`.

        Raises:
            ConfigError: it cannot be read, or names something that is no setting.
        """

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return nothing: a source is read as a whole (the base class wants this method)."""
        del field
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the fields that no earlier source has given, as tables by group."""
        tables: dict[str, dict[str, Any]] = {}
        for name, given in self.read().items():
            group, _, field = name.partition(".")
            if field not in self.current_state.get(group, {}):
                tables.setdefault(group, {})[field] = given.value
                if given.origin:
                    self.origins[name] = given.origin
        return tables

    def group_model(self, group: str, field: str, value: object) -> type[BaseModel]:
        """Return the model of a group.

        Raises:
            ConfigError: there is none; the error shows `field` and `value`.
        """
        groups = self.settings_cls.model_fields
        if group not in groups:
            raise ConfigError(field, value, f"use one of the groups {_near(group, groups)}")
        model = groups[group].annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        return model


class FlagSource(SourceWithOrigins):
    """Flags of the command line."""

    def __init__(self, settings_cls: type[BaseSettings], flags: Mapping[str, Any]) -> None:
        """Take values by `group.field`; None was not given."""
        super().__init__(settings_cls)
        self._flags = flags

    def read(self) -> Mapping[str, GivenValue]:
        """Return the flags that were given."""
        return {
            name: GivenValue(value, f"flag {FLAG_OF.get(name, name)}")
            for name, value in self._flags.items()
            if value is not None
        }


class EnvironmentSource(SourceWithOrigins):
    """Variables `FORESAIL_<GROUP>__<FIELD>`, and `FORESAIL_DATA`."""

    def __init__(self, settings_cls: type[BaseSettings], environment: Mapping[str, str]) -> None:
        """Take the variables of a process."""
        super().__init__(settings_cls)
        self._environment = environment

    def read(self) -> Mapping[str, GivenValue]:
        """Return the variables that are settings; the others are not ours."""
        values: dict[str, GivenValue] = {}
        for variable, text in sorted(self._environment.items()):
            origin = f"environment {variable}"
            if variable == DATA_VARIABLE and text:
                values["run.data"] = GivenValue(text, origin)
            if not variable.startswith(PREFIX) or "__" not in variable:
                continue
            group, _, field = variable.removeprefix(PREFIX).lower().partition("__")
            model = self.group_model(group, variable, text)
            _check_field(group, model, field, f"{text!r} in the environment")
            _check_number(group, model, field, text)
            values[f"{group}.{field}"] = GivenValue(_parse_text(model, field, text), origin)
        return values


class FileSource(SourceWithOrigins):
    """A TOML file with one table for each group."""

    def __init__(self, settings_cls: type[BaseSettings], file: Path | None) -> None:
        """Take a file, or None for no file."""
        super().__init__(settings_cls)
        self._file = file

    def read(self) -> Mapping[str, GivenValue]:
        """Return every value of every table."""
        if self._file is None:
            return {}
        values: dict[str, GivenValue] = {}
        for group, table in _read_tables(self._file).items():
            model = self.group_model(group, f"[{group}]", self._file.name)
            if not isinstance(table, dict):
                raise ConfigError(
                    group, table, f"write it as a table [{group}] in {self._file.name}"
                )
            for field, value in table.items():
                _check_field(group, model, field, f"{value!r} in {self._file.name}")
                _check_number(group, model, field, value)
                values[f"{group}.{field}"] = GivenValue(value, f"file {self._file.name}")
        return values


class PredictingModelsSource(SourceWithOrigins):
    """The agents take the thresholds of the models that predict, unless others were given."""

    def read(self) -> Mapping[str, GivenValue]:
        """Return the agents' models, from what the sources before have given."""
        predicting: Mapping[str, Any] = self.current_state.get("inference", {})
        return {
            f"agents.{own}": GivenValue(predicting[name], "")
            for own, name in MODEL_OF_THRESHOLDS.items()
            if predicting.get(name, MODEL_ID) != MODEL_ID
        }


class MissingBoosterSource(SourceWithOrigins):
    """Without XGBoost's library nothing trained predicts that nobody asked for: the formula and the simple rules do."""

    def read(self) -> Mapping[str, GivenValue]:
        """Return the defaults that do without it; nothing where it is installed."""
        if find_spec(BOOSTER) is not None:
            return {}
        return {
            name: GivenValue(value, f"{BOOSTER} is not installed: {instead}")
            for name, value, instead in WITHOUT_BOOSTER
        }


def origins_of(sources: Iterable[SourceWithOrigins]) -> dict[str, str]:
    """Return where each given value came from, by `group.field`, once the sources were called."""
    return {name: origin for source in sources for name, origin in source.origins.items()}


def _read_tables(file: Path) -> dict[str, Any]:
    try:
        return read_toml(file)
    except OSError as error:
        remedy = f"give a file that can be read ({error.strerror})"
        raise ConfigError("--config", str(file), remedy) from error
    except BadFile as error:
        raise ConfigError("--config", str(file), f"write it as TOML ({error})") from error


def _parse_text(model: type[BaseModel], field: str, text: str) -> Any:
    """Read a variable as JSON where its field is no plain text (lists, numbers), else as it is."""
    annotation: Any = model.model_fields[field].annotation
    try:
        return TypeAdapter(annotation).validate_json(text)
    except ValidationError:
        return text


def _check_field(group: str, model: type[BaseModel], field: str, value: str) -> None:
    fields = model.model_fields
    if field not in fields:
        remedy = f"unknown key; did you mean {_near(field, fields)}?"
        raise ConfigError(f"{group}.{field}", value, remedy)


def _check_number(group: str, model: type[BaseModel], field: str, value: object) -> None:
    """Refuse what pydantic takes for a number and nobody else does: `1_000`, ` 5 `, true.

    Raises:
        ConfigError: the field is a number, and the value is one of these.
    """
    if model.model_fields[field].annotation not in {int, float} or not isinstance(
        value, str | bool
    ):
        return
    try:
        parse_number(str(value))
    except ValueError as error:
        raise ConfigError(f"{group}.{field}", value, "give a number, in plain digits") from error


def _near(word: str, known: Mapping[str, Any]) -> str:
    return ", ".join(difflib.get_close_matches(word, known, n=3, cutoff=0.4) or sorted(known))
