"""An experiment: read from a TOML file, every mistake named in a line of its own."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, BeforeValidator, Field, ValidationError, model_validator

from bus.errors import InputError
from inputs.limited_files import BadFile, read_toml
from lab.experiments.arms import Arm, arm_of
from lab.experiments.metrics import COMPARED, METRICS
from schemas.model import DataModel
from twin.port.settings import Weather

Split = Literal["development", "test"]
FIRST_SEED: Mapping[Split, int] = {"development": 1, "test": 1_000_001}
"""Seeds of the two splits never meet, however many an experiment takes."""
MOST_SEEDS = 100_000
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,60}$"
SCORE = "score_dollars_per_hour"
"""The outcome score, as metrics name it."""
_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)(s|m|h|d)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def _read_duration(value: object) -> object:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("write a duration as 15s, 30m, 6h or 1d")
    return float(match[1]) * _SECONDS[match[2]]


Duration = Annotated[float, BeforeValidator(_read_duration)]
"""Cluster seconds; in files `15s`, `30m`, `6h`."""


class World(DataModel):
    """Common world of every arm."""

    nodes: int = Field(default=100, ge=1, le=5_000)
    """Machines that are there from the beginning and that nobody rents."""
    warm_up: Duration = Field(default=1_800.0, ge=0)
    """Cluster seconds that pass before anything counts; the arm acts in them already."""
    length: Duration = Field(default=21_600.0, gt=0)
    """Cluster seconds that count."""
    cycle: Duration = Field(default=15.0, ge=1, le=600)
    """Cluster seconds from one cycle to the next."""
    weather: Weather = "mild"
    """How much goes wrong by itself."""
    machines: str | None = None
    """File of machines that can be rented; unset: the built-in table."""
    rented: bool = False
    """Whether the workload's own machines are gone before anything runs, so that somebody has rented each that there
    is and can give it back; `nodes` then says how much work there is.
    """


class Workload(DataModel):
    """Something that is played, for every arm alike."""

    name: str = Field(pattern=NAME)
    """What it is called in results."""
    plays: str | None = None
    """A shipped workload or a file; unset: the workload called `name`."""
    family: str | None = None
    """Instead: each seed draws a world of its own from this family of `lab.rate_worlds`."""
    begins: str | None = Field(default=None, pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$")
    """Hour of a family's day from which on it is played, such as 09:48, with the replicas of the whole day's owner;
    what is before belongs to the history.
    """
    start_time: AwareDatetime | None = None
    """Cluster time at the start; unset: 2026-01-01T00:00:00Z, and for a family hour and weekday of its rates."""
    scenario: str | None = None
    """File of what goes wrong, and when."""
    nodes: int | None = Field(default=None, ge=1, le=5_000)
    """Instead of the world's."""
    split: Split = "development"
    """Test workloads are played only by `--split test`."""

    @model_validator(mode="after")
    def _check_family(self) -> Self:
        if self.family is not None and (self.plays or self.nodes):
            raise ValueError(
                "family: it brings workload and machines of its own; leave out plays and nodes"
            )
        if self.begins is not None and self.family is None:
            raise ValueError("begins: only the day of a family has hours; leave it out")
        return self


class Seeds(DataModel):
    """Which worlds are drawn."""

    count: int = Field(default=20, ge=2, le=MOST_SEEDS)
    """Seeds of each workload; all arms see the same ones."""


class Hypothesis(DataModel):
    """The one comparison that the experiment was made for, named before it ran."""

    arm: str
    against: str
    metric: str = SCORE
    price_factors: tuple[Annotated[float, Field(gt=0)], ...] = ()
    """The gate also asks for the gain with each price of the score multiplied by each of these, one at a time."""


class Guard(DataModel):
    """A metric that must not get worse by more than a margin, whatever the hypothesis gains."""

    metric: str
    margin: float = Field(ge=0)
    """How much worse is still accepted, in the metric's unit, or as a ratio of the other arm's mean."""
    relative: bool = False


class Inference(DataModel):
    """How intervals are made."""

    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    resamples: int = Field(default=10_000, ge=200, le=1_000_000)
    seed: int = Field(default=1, ge=0)


class Experiment(DataModel):
    """A whole experiment file."""

    name: str = Field(pattern=NAME)
    question: str = ""
    """What somebody wants to know, in a sentence; the report begins with it."""
    world: World = World()
    workloads: tuple[Workload, ...] = Field(min_length=1)
    arms: tuple[Arm, ...] = Field(min_length=2)
    seeds: Seeds = Seeds()
    hypothesis: Hypothesis
    guards: tuple[Guard, ...] = ()
    inference: Inference = Inference()

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        for what, names in (
            ("workloads", [workload.name for workload in self.workloads]),
            ("arms", [arm.name for arm in self.arms]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{what}: {', '.join(twice)} stands twice; give each its own name")
        fixed = [arm.name for arm in self.arms if arm.provisioner == "none"]
        if self.world.rented and fixed:
            raise ValueError(
                f"world.rented: nobody rents a machine in arm {fixed[0]!r}, so it would have none; give it a "
                "provisioner, or leave out rented"
            )
        arms = [arm.name for arm in self.arms]
        for field in ("arm", "against"):
            name = getattr(self.hypothesis, field)
            if name not in arms:
                raise ValueError(
                    f"hypothesis.{field}: {name!r} is no arm; use one of {', '.join(arms)}"
                )
        if self.hypothesis.arm == self.hypothesis.against:
            raise ValueError("hypothesis: an arm cannot be compared with itself")
        for metric in (self.hypothesis.metric, *(guard.metric for guard in self.guards)):
            if metric not in COMPARED:
                why = "is of an arm by itself" if metric in METRICS else "is unknown"
                raise ValueError(f"metric: {metric!r} {why}; use one of {', '.join(COMPARED)}")
        return self

    def arm(self, name: str) -> Arm:
        """Return an arm; raises KeyError for a name it has not."""
        return {arm.name: arm for arm in self.arms}[name]

    def trials(self, split: Split) -> Iterator[Trial]:
        """Yield every trial of a split, seed by seed, so that early results pair."""
        first = FIRST_SEED[split]
        for seed in range(first, first + self.seeds.count):
            for workload in self.workloads:
                if workload.split == split:
                    for arm in self.arms:
                        yield Trial(self.world, workload, arm, seed)


@dataclass(frozen=True, slots=True)
class Trial:
    """One arm in one world; the unit of work."""

    world: World
    workload: Workload
    arm: Arm
    seed: int

    @property
    def nodes(self) -> int:
        """Machines that are there from the beginning."""
        return self.workload.nodes or self.world.nodes

    def fingerprint(self, code: str) -> str:
        """Return what names this trial's result: all that determines it, and the code that ran it."""
        files = [self.workload.plays, self.workload.scenario, self.world.machines]
        parts = {
            "code": code,
            "world": self.world.model_dump(mode="json"),
            "workload": self.workload.model_dump(mode="json"),
            "arm": self.arm.model_dump(mode="json"),
            "seed": self.seed,
            "files": [_file_digest(name) for name in files],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def _file_digest(name: str | None) -> str:
    if name is None or not Path(name).is_file():
        return ""
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


def read_experiment(path: Path) -> Experiment:
    """Return the experiment that a file describes; relative file names in it are its neighbours.

    Raises:
        BadExperiment: it cannot be read or does not fit; one line for each mistake.
    """
    try:
        document = read_toml(path)
    except OSError as error:
        raise InputError(
            "FILE", path, f"give a TOML file that can be read ({error.strerror})"
        ) from error
    except BadFile as error:
        raise InputError("FILE", path, str(error)) from error
    try:
        return Experiment.model_validate(_with_neighbours(_with_arms(document), path.parent))
    except ValidationError as error:
        raise BadExperiment(path, error) from error


class BadExperiment(InputError):
    """An experiment file does not fit; its text has one line for each mistake."""

    def __init__(self, path: Path, error: ValidationError) -> None:
        """Name file, field, value and remedy of each mistake."""
        lines = []
        entries = error.errors(include_url=False, include_context=False)
        places = [entry["loc"] for entry in entries]
        for entry in entries:
            length = len(entry["loc"])
            inside = any(len(at) > length and at[:length] == entry["loc"] for at in places)
            if entry["type"] == "too_short" and inside:
                continue  # a list is short of those of its own that were refused
            where = ".".join(str(part) for part in entry["loc"]) or "the file"
            given = (
                ""
                if entry["type"] == "missing" or not entry["loc"]
                else f" = {entry['input']!r}"[:120]
            )
            lines.append(f"{where}{given}: {entry['msg'].removeprefix('Value error, ')}")
        first = lines[0].partition(": ")
        super().__init__(f"{path}: {first[0]}", len(lines), first[2])
        self.lines = tuple(f"{path}: {line}" for line in lines)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def _with_arms(document: Mapping[str, Any]) -> dict[str, Any]:
    """Let `arms = ["none", "hpa"]` stand for the built-in ones called so; another name says why it is none."""
    arms = document.get("arms")
    if not isinstance(arms, list):
        return dict(document)
    return {
        **document,
        "arms": [arm_of(arm) if isinstance(arm, str) else arm for arm in arms],
    }


def _with_neighbours(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Turn names of files beside the experiment's own into paths."""

    def resolve(table: object, *fields: str) -> object:
        if not isinstance(table, dict):
            return table
        return {
            name: str(folder / value)
            if name in fields and isinstance(value, str) and (folder / value).is_file()
            else value
            for name, value in table.items()
        }

    workloads = document.get("workloads")
    if isinstance(workloads, list):
        document["workloads"] = [resolve(entry, "plays", "scenario") for entry in workloads]
    if "world" in document:
        document["world"] = resolve(document["world"], "machines")
    return document
