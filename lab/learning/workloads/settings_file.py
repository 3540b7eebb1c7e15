"""SKRueue's YAML of workload settings, read at last: own templates, intervals and hourly patterns.

```yaml
workload:
  submission_interval: 20          # seconds between two jobs of `uniform`
  burst: {jobs: 20, every_hours: 4, gap_seconds: 5}
  hourly_patterns:                 # of `realistic`; they cover the day
    night: {hours: [0, 9], rate: 2, templates: {nightly-report: 1}}
    day: {hours: [9, 24], rate: 5, templates: {nightly-report: 0.2, ml-training: 0.8}}
job_templates:                     # beside the six that ship, or in place of one
  nightly-report: {kind: spark, cpu: 1500m, memory: 6Gi, estimated_minutes: 40, priority: 6,
                   spark: {executors: 4, cores: 2, memory_gib: 3}}
```
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from inputs.errors import InputError
from inputs.limited_files import BadFile, read_limited
from inputs.limited_yaml import MOST_BYTES, BadYaml, load_yaml
from inputs.quantities import parse_millicores, parse_whole
from lab.learning.jobs import Amounts
from lab.learning.workloads.strategies import (
    HOUR_SECONDS,
    HOURS_PER_DAY,
    HourlyPattern,
    Strategies,
)
from lab.learning.workloads.templates import TEMPLATES, Spark, Template
from schemas.model import DataModel

LIMIT_FACTOR = 2


@dataclass(frozen=True, slots=True)
class WorkloadSettings:
    """What a file says: templates by name, and how they come."""

    templates: dict[str, Template]
    strategies: Strategies


class _Spark(DataModel):
    executors: int = Field(ge=1)
    cores: int = Field(ge=1)
    memory_gib: int = Field(ge=1)


class _Template(DataModel):
    kind: str = "generic"
    cpu: str | float
    memory: str | float
    cpu_limit: str | float | None = None
    memory_limit: str | float | None = None
    estimated_minutes: float = Field(gt=0)
    priority: int = Field(default=5, ge=0)
    spark: _Spark | None = None
    spread: float = Field(default=0.35, ge=0, le=3)
    failure_ratio: float = Field(default=0.0, ge=0, le=1)
    oom_ratio: float = Field(default=0.0, ge=0, le=1)

    @model_validator(mode="after")
    def _check_amounts(self) -> Self:
        for field, given in (("cpu", self.cpu), ("memory", self.memory)):
            if parse_millicores(given) <= 0:
                raise ValueError(f"{field}: {given} is nothing; give more than 0")
        if self.failure_ratio + self.oom_ratio > 1:
            raise ValueError("failure_ratio and oom_ratio: together they are at most 1")
        return self

    def as_template(self, name: str) -> Template:
        """Return it in Kubernetes units; limits that are not given are twice the requests."""
        requests = Amounts(parse_millicores(self.cpu), parse_whole(self.memory))
        limits = Amounts(
            LIMIT_FACTOR * requests.cpu_millicores
            if self.cpu_limit is None
            else parse_millicores(self.cpu_limit),
            LIMIT_FACTOR * requests.memory_bytes
            if self.memory_limit is None
            else parse_whole(self.memory_limit),
        )
        spark = None if self.spark is None else Spark(**self.spark.model_dump())
        return Template(
            name, self.kind, requests, limits, self.estimated_minutes, self.priority, spark,
            self.spread, self.failure_ratio, self.oom_ratio,
        )  # fmt: skip


class _Pattern(DataModel):
    hours: tuple[int, int]
    rate: float = Field(gt=0)
    templates: dict[str, float]


class _Burst(DataModel):
    jobs: int = Field(default=20, ge=1)
    every_hours: float = Field(default=4.0, gt=0)
    gap_seconds: float = Field(default=5.0, ge=0)


class _Workload(DataModel):
    submission_interval: float = Field(default=20.0, gt=0)
    hourly_patterns: dict[str, _Pattern] | None = None
    burst: _Burst = _Burst()

    @model_validator(mode="after")
    def _check_day(self) -> Self:
        hour = 0
        for name, pattern in sorted((self.hourly_patterns or {}).items(), key=lambda p: p[1].hours):
            if pattern.hours[0] != hour or pattern.hours[1] <= hour:
                raise ValueError(
                    f"hourly_patterns.{name}: begin at hour {hour}, so that patterns cover the day once"
                )
            hour = pattern.hours[1]
        if self.hourly_patterns is not None and hour != HOURS_PER_DAY:
            raise ValueError(
                f"hourly_patterns: they end at hour {hour}; cover the day to {HOURS_PER_DAY}"
            )
        return self


class _File(DataModel):
    workload: _Workload = _Workload()
    job_templates: dict[str, _Template] = {}

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        known = {**TEMPLATES, **self.job_templates}
        for name, pattern in (self.workload.hourly_patterns or {}).items():
            for template, weight in pattern.templates.items():
                if template not in known:
                    raise ValueError(
                        f"hourly_patterns.{name}: {template} is no template; use {', '.join(known)}"
                    )
                if weight < 0:
                    raise ValueError(
                        f"hourly_patterns.{name}: give {template} a weight of 0 or more"
                    )
            if not sum(pattern.templates.values()):
                raise ValueError(f"hourly_patterns.{name}: give one template a weight above 0")
        return self


def read_workload_settings(path: Path) -> WorkloadSettings:
    """Read a file of settings; what it leaves out is as published.

    Raises:
        InputError: it cannot be read, is no such file, or names a template or an hour that does not exist.
    """
    try:
        given: Any = load_yaml(read_limited(path, MOST_BYTES)) or {}
        file = _File.model_validate(given)
    except (OSError, BadFile, BadYaml) as error:
        raise InputError(
            "workload settings", path, f"give a readable YAML file ({error})"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "workload settings"
        raise InputError(f"{path}: {place}", first["input"], first["msg"]) from None
    workload, burst = file.workload, file.workload.burst
    templates = {name: one.as_template(name) for name, one in file.job_templates.items()}
    strategies = Strategies(
        interval_seconds=workload.submission_interval,
        burst_jobs=burst.jobs,
        burst_every_seconds=burst.every_hours * HOUR_SECONDS,
        burst_gap_seconds=burst.gap_seconds,
    )
    if workload.hourly_patterns is not None:
        patterns = tuple(
            HourlyPattern(name, *one.hours, one.rate, one.templates)
            for name, one in workload.hourly_patterns.items()
        )
        strategies = replace(strategies, patterns=patterns)
    return WorkloadSettings({**TEMPLATES, **templates}, strategies)
