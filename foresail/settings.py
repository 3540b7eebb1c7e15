"""Settings of the whole stack: typed groups from defaults, file, environment and flags, each value
with its origin.

A later source wins: default, then file (TOML, one table per group), then environment
(`FORESAIL_<GROUP>__<FIELD>`), then flags. Unknown keys are errors, and everything is validated
before the first process starts. Only the `foresail` command loads settings; a service is handed its
own group as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import Field, PrivateAttr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bus.errors import ConfigError
from foresail.run_settings import NatsSettings, RunSettings
from foresail.settings_sources import (
    EnvironmentSource,
    FileSource,
    FlagSource,
    MissingBoosterSource,
    PredictingModelsSource,
    SourceWithOrigins,
    origins_of,
)
from projections.breaker.settings import BreakerSettings
from projections.demotion.settings import ForesightSettings
from projections.mismatch.settings import MismatchSettings
from projections.promotion.settings import PromotionSettings
from projections.score.prices import ScorePrices
from projections.switchback.schedule import SwitchbackSettings
from schemas.model import DataModel
from services.agents.settings import AgentSettings
from services.collector.settings import CollectorSettings
from services.dashboard.settings import DashboardSettings
from services.executor.settings import ExecutorSettings
from services.exerciser.settings import ExerciserSettings
from services.inference.settings import InferenceSettings
from services.referee.settings import RefereeSettings
from services.scoreboard.settings import ScoreboardSettings


class StackSettings(BaseSettings):
    """Every group of settings, and the origin of every value that is not a default.

    It reads nothing from its surroundings but what `sources` read; see `resolve`.
    """

    model_config = SettingsConfigDict(extra="forbid", frozen=True, validate_default=False)

    run: RunSettings = Field(default_factory=RunSettings)
    nats: NatsSettings = Field(default_factory=NatsSettings)
    collector: CollectorSettings = Field(default_factory=CollectorSettings)
    inference: InferenceSettings = Field(default_factory=InferenceSettings)
    agents: AgentSettings = Field(default_factory=AgentSettings)
    referee: RefereeSettings = Field(default_factory=RefereeSettings)
    executor: ExecutorSettings = Field(default_factory=ExecutorSettings)
    scoreboard: ScoreboardSettings = Field(default_factory=ScoreboardSettings)
    score: ScorePrices = Field(default_factory=ScorePrices)
    switchback: SwitchbackSettings = Field(default_factory=SwitchbackSettings)
    breaker: BreakerSettings = Field(default_factory=BreakerSettings)
    promotion: PromotionSettings = Field(default_factory=PromotionSettings)
    foresight: ForesightSettings = Field(default_factory=ForesightSettings)
    mismatch: MismatchSettings = Field(default_factory=MismatchSettings)
    exerciser: ExerciserSettings = Field(default_factory=ExerciserSettings)
    dashboard: DashboardSettings = Field(default_factory=DashboardSettings)

    _origins: dict[str, str] = PrivateAttr(default_factory=dict)

    def __init__(self, sources: tuple[SourceWithOrigins, ...] = (), /, **groups: Any) -> None:
        """Take groups as they are, or else what sources give, an earlier one first.

        Raises:
            ValidationError: a value does not fit.
            ConfigError: a source cannot be read, or names something that is no setting.
        """
        if sources:
            super().__init__(_build_sources=(sources, {}))
        else:
            super().__init__(**groups)
        self._origins = dict(sorted(origins_of(sources).items()))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Leave out the sources that pydantic-settings reads by itself."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    @property
    def origins(self) -> Mapping[str, str]:
        """Where each value that is not a default was given, by `group.field`."""
        return self._origins

    @property
    def groups(self) -> Mapping[str, DataModel]:
        """Every group by name, for what goes over all of them."""
        return {name: getattr(self, name) for name in GROUPS}

    def lines(self) -> list[str]:
        """Return one line per value that is not a default: name, value, origin."""
        return [
            f"{name} = {_value_text(self._value(name))}  ({origin})"
            for name, origin in self._origins.items()
        ]

    def _value(self, name: str) -> Any:
        group, field = name.split(".", 1)
        return getattr(self.groups[group], field)


GROUPS: Mapping[str, type[DataModel]] = {
    name: cast("type[DataModel]", field.annotation)
    for name, field in StackSettings.model_fields.items()
}
"""The model of each group by name, in the order of the settings page."""


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
    sources = (
        FlagSource(StackSettings, flags),
        EnvironmentSource(StackSettings, environment),
        FileSource(StackSettings, file),
        PredictingModelsSource(StackSettings),
        MissingBoosterSource(StackSettings),
    )
    try:
        return StackSettings(sources)
    except ValidationError as error:
        raise _config_error(error, origins_of(sources)) from error


def _config_error(error: ValidationError, origins: Mapping[str, str]) -> ConfigError:
    """Return the first complaint as one line: field, value, remedy and where the value was given."""
    first = error.errors()[0]
    parts = [str(part) for part in first["loc"]]
    value = first["input"]
    if len(parts) == 1 and isinstance(value, Mapping):
        value = ", ".join(f"{name}={inner!r}" for name, inner in value.items())
    origin = origins.get(".".join(parts[:2]), "settings")
    remedy = f"{first['msg'].removeprefix('Value error, ')} ({origin})"
    return ConfigError(".".join(parts), value, remedy)


def _value_text(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)
