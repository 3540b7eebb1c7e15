"""A gate suite: several experiments' gates named in one file, with one answer for all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_validator

from bus.errors import InputError
from inputs.limited_files import BadFile, read_toml
from lab.experiments.spec import NAME, BadExperiment, Split
from schemas.model import DataModel


class SuiteGate(DataModel):
    """One experiment whose gate has to pass."""

    file: str
    """The experiment, seen from the suite's folder."""
    name: str = Field(default="", pattern=rf"^$|{NAME}")
    """What it is called in the table; unset: the experiment's own name."""
    family: str = ""
    """What kind of world or policy it stands for, in the user's own words."""
    split: Split = "development"
    dir: str | None = None
    """Folder of the results; unset: beside the experiment, as `experiment run` has it."""


class Suite(DataModel):
    """A whole manifest."""

    name: str = Field(pattern=NAME)
    gates: tuple[SuiteGate, ...]

    @model_validator(mode="after")
    def _check_gates(self) -> Suite:
        if not self.gates:
            raise ValueError("gates: name at least one")
        places = [(gate.file, gate.split, gate.dir) for gate in self.gates]
        for place in places:
            if places.count(place) > 1:
                raise ValueError(
                    f"gates: {place[0]} stands twice with split {place[1]}; name it once"
                )
        return self


def read_suite(path: Path) -> Suite:
    """Return the suite that a file describes; file names in it are seen from its folder.

    Raises:
        BadExperiment: it does not fit; one line for each mistake.
        InputError: it cannot be read.
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
        return Suite.model_validate(_with_neighbours(document, path.parent))
    except ValidationError as error:
        raise BadExperiment(path, error) from error


def _with_neighbours(document: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    gates = document.get("gates")
    if not isinstance(gates, list):
        return dict(document)
    return {**document, "gates": [_resolved(gate, folder) for gate in gates]}


def _resolved(gate: object, folder: Path) -> object:
    if not isinstance(gate, dict):
        return gate
    return {
        name: str(folder / value) if name in ("file", "dir") and isinstance(value, str) else value
        for name, value in gate.items()
    }
