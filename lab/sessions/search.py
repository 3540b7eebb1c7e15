"""A search: a space that is declared once, an objective that does not know it, and how long to look."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import Field, ValidationError, model_validator

from bus.errors import InputError
from inputs.limited_files import BadFile, read_limited
from inputs.limited_yaml import MOST_BYTES, BadYaml, load_yaml
from lab.sessions.field_errors import field_error
from lab.sessions.payloads import ExperimentPayload, Payload, known_names, unknown_name
from lab.sessions.training_payloads import PolicyPayload
from projections.session_state import Direction
from schemas.expressions import ExpressionError, compile_expression
from schemas.model import DataModel

Sampler = Literal["tpe", "cma-es", "nsga-ii", "random", "grid"]
SAMPLERS: tuple[Sampler, ...] = get_args(Sampler)
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,60}$"
WEIGHTS = ("scoreboard.",)
"""Settings of the reward itself: who searches them and ranks by the reward finds the largest weights."""
POLICY_WEIGHTS = ("alpha", "beta", "gamma")
"""The same, of the reward that a policy learns."""
LEAST_FAILED = 3
"""Failed trials that end no study, whatever their share."""


class Dimension(DataModel):
    """A setting and where it may lie; the same for every trial."""

    name: str = Field(min_length=1)
    low: float | int | None = None
    high: float | int | None = None
    log: bool = False
    """Whether the search moves by factors."""
    step: float | int | None = None
    choices: tuple[str | float | int | bool, ...] = ()
    """Instead of low and high."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.choices) == (self.low is not None or self.high is not None):
            raise ValueError(f"{self.name}: give low and high, or choices")
        if not self.choices:
            if self.low is None or self.high is None or self.low >= self.high:
                raise ValueError(f"{self.name}: give a low below its high")
            if self.log and (self.low <= 0 or self.step is not None):
                raise ValueError(f"{self.name}: log needs a low above 0, and no step")
        return self

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers."""
        return isinstance(self.low, int) and isinstance(self.high, int)


class Objective(DataModel):
    """A figure of the results that is to become better."""

    figure: str
    direction: Direction = "maximize"


class Search(DataModel):
    """A whole search file."""

    study: str = Field(pattern=NAME)
    payload: Payload
    fixed: dict[str, Any] = {}
    """Values of every trial, and of the baseline, which is played first."""
    space: tuple[Dimension, ...] = Field(min_length=1)
    objectives: tuple[Objective, ...] = Field(min_length=1, max_length=2)
    constraints: tuple[str, ...] = ()
    """What has to hold of a winner, such as `requests_served >= baseline.requests_served`."""
    sampler: Sampler = "tpe"
    seed: int = Field(default=0, ge=0)
    trials: int = Field(default=60, ge=1, le=100_000)
    rungs: tuple[int, ...] = ()
    """With an experiment: seeds that a trial is played with at first, then more; what is behind the median of the
    others with as many seeds is given up."""
    most_failed_ratio: float = Field(default=0.3, ge=0, le=1)
    """A larger share of failed trials ends the study."""
    circular: str = ""
    """Why what it finds is no evidence; such a search is never confirmed."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [dimension.name for dimension in self.space]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"space: {twice} stands twice")
        wrong = unknown_name((*names, *self.fixed), known_names(self.payload))
        if wrong:
            raise ValueError(f"space: {wrong}")
        texts = [*self.constraints, *(objective.figure for objective in self.objectives)]
        for text in texts:
            self._check_expression(text)
        own = POLICY_WEIGHTS if isinstance(self.payload, PolicyPayload) else ()
        weights = next((name for name in names if name.startswith(WEIGHTS) or name in own), None)
        if weights is not None and not self.circular:
            raise ValueError(
                f"space: {weights} is part of the reward that ranks; say why in `circular`, or leave it out"
            )
        if self.rungs and not isinstance(self.payload, ExperimentPayload):
            raise ValueError("rungs: only an experiment has seeds")
        if list(self.rungs) != sorted(set(self.rungs)) or any(rung < 1 for rung in self.rungs):
            raise ValueError("rungs: give growing numbers of seeds, as 2, 5, 10")
        if isinstance(self.payload, ExperimentPayload) and self.payload.split != "development":
            raise ValueError("payload.split: a search sees the development split alone")
        if self.sampler == "grid":
            if not all(dimension.choices for dimension in self.space):
                raise ValueError("sampler: a grid takes choices alone; give them to each dimension")
            if self.trials > len(self.grid()):
                raise ValueError(f"trials: the grid has {len(self.grid())} combinations")
        if len(self.objectives) > 1 and self.sampler == "cma-es":
            raise ValueError(f"sampler: {self.sampler} knows one objective; use nsga-ii or tpe")
        return self

    def grid(self) -> list[dict[str, Any]]:
        """Return every combination of the choices, the last dimension changing fastest."""
        names = [dimension.name for dimension in self.space]
        rows = product(*(dimension.choices for dimension in self.space))
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _check_expression(self, text: str) -> None:
        try:
            expression = compile_expression(text)
        except ExpressionError as error:
            raise ValueError(f"{text}: {error}") from error
        for path in expression.paths():
            if str(path.parts[0]) == "config":
                raise ValueError(
                    f"{text}: an objective knows what came of a trial, not what was tried"
                )


def read_search(path: Path) -> Search:
    """Return the search that a YAML or JSON file describes.

    Raises:
        InputError: it cannot be read, or something in it does not fit.
    """
    try:
        content = load_yaml(read_limited(path, MOST_BYTES))
    except (OSError, BadFile, BadYaml) as error:
        raise InputError(
            "FILE", path, f"give a YAML or JSON file that can be read ({error})"
        ) from error
    try:
        return Search.model_validate(content)
    except ValidationError as error:
        raise field_error(f"{path}: ", error) from error


def names_of(result: Mapping[str, Any], baseline: Mapping[str, Any]) -> dict[str, Any]:
    """Return what objectives and constraints may speak of: each metric, `metrics`, and the `baseline`'s."""
    metrics = dict(result.get("metrics") or {})
    return {**metrics, "metrics": metrics, "baseline": dict(baseline)}
