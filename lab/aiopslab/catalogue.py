"""AIOpsLab's catalogue of problems: families of one fault, each with an id for each task that is asked of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import Field, ValidationError, field_validator, model_validator

from bus.errors import InputError
from inputs.limited_files import BadFile, read_toml
from lab.experiments.spec import BadExperiment
from schemas.model import DataModel

Task = Literal["detection", "localization", "analysis", "mitigation"]
TASKS: tuple[Task, ...] = get_args(Task)
CATALOGUE, PROBLEMS = "catalogue.toml", "problems"
"""Of the folder: its file, and the subfolder with a trap for each family that is played."""


class Family(DataModel):
    """Problems that share one fault."""

    name: str
    phases: tuple[str, ...] = ()
    """Ends of the ids, such as `detection-1`, where the family's name begins each."""
    ids: tuple[str, ...] = ()
    """The ids themselves, where they follow no such rule."""
    app: str
    services: tuple[str, ...]
    """Where the fault is; several: of the first problems the first, and so on. None where nothing is wrong."""
    fault: str
    """What AIOpsLab's injector calls it."""
    system_level: str = ""
    fault_type: str = ""
    """What a root cause analysis has to say; empty where none is asked."""
    symptom: str
    expected: str = ""
    """What a good operator's controller does, as the family's trap checks it."""
    stands_for: str = ""
    """What the twin does in the fault's place."""
    left_out: str = ""
    """Why the twin does not play it; empty: it does."""

    @field_validator("phases", "ids", "services", mode="before")
    @classmethod
    def _take_list(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if bool(self.left_out) is bool(self.expected and self.stands_for):
            raise ValueError(f"{self.name}: give expected and stands_for, or left_out")
        return self

    @property
    def problem_ids(self) -> tuple[str, ...]:
        """Every id in AIOpsLab's registry."""
        return self.ids or tuple(f"{self.name}-{phase}" for phase in self.phases)


class Catalogue(DataModel):
    """The whole file."""

    source: str
    """Repository and commit that the ids are of."""
    family: tuple[Family, ...] = Field(min_length=1)

    @field_validator("family", mode="before")
    @classmethod
    def _take_list(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @property
    def problem_ids(self) -> tuple[str, ...]:
        """Every id."""
        return tuple(one for family in self.family for one in family.problem_ids)

    @property
    def played(self) -> tuple[Family, ...]:
        """Families that the twin plays."""
        return tuple(family for family in self.family if not family.left_out)

    def named(self, name: str) -> Family:
        """Return the family of that name, or of a problem's id.

        Raises:
            InputError: there is none.
        """
        for family in self.family:
            if name == family.name or name in family.problem_ids:
                return family
        known = ", ".join(family.name for family in self.played)
        raise InputError("FAMILY", name, f"give a problem's id, or one of: {known}")


def task_of(problem_id: str) -> Task:
    """Return which task an id asks."""
    return next(task for task in TASKS if task in problem_id)


def read_catalogue(folder: Path) -> Catalogue:
    """Return the catalogue of a folder.

    Raises:
        BadExperiment: it does not fit; one line for each mistake.
        InputError: it cannot be read.
    """
    path = folder / CATALOGUE
    try:
        return Catalogue.model_validate(read_toml(path))
    except OSError as error:
        why = f"name a folder with {CATALOGUE} ({error.strerror})"
        raise InputError("--problems", folder, why) from error
    except BadFile as error:
        raise InputError("--problems", path, str(error)) from error
    except ValidationError as error:
        raise BadExperiment(path, error) from error
