"""A session file: fixed values, grids, how many jobs at most, and what a job does.

The predecessors' form has the fixed values beside the grids and names no payload (`payloads.BACKTEST`); with a
`payload` they stand under `fixed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from bus.errors import InputError
from inputs.limited_files import BadFile, read_limited
from inputs.limited_json import BadJson, load_json
from inputs.limited_yaml import MOST_BYTES, BadYaml, load_yaml
from lab.sessions.field_errors import field_error
from lab.sessions.payloads import BACKTEST, Payload, read_payload
from schemas.model import DataModel

Choice = Literal["first", "random", "sobol"]
CHOICES: tuple[Choice, ...] = ("first", "random", "sobol")
FORM = ("payload", "fixed", "grids", "max_jobs", "tag_prefix", "choose", "seed")
BACKTEST_DEFAULTS: Mapping[str, Any] = {"max_open_trades": 1, "initial_balance_usd": 10_000}


class Grid(DataModel):
    """A name and the values that it takes."""

    name: str = Field(min_length=1)
    values: tuple[Any, ...] = Field(min_length=1)


class SessionFile(DataModel):
    """A whole session file."""

    payload: Payload = BACKTEST
    fixed: dict[str, Any] = {}
    """Values of every job; a grid of the same name goes before."""
    grids: tuple[Grid, ...] = ()
    """Every combination is a job; the last grid changes fastest."""
    max_jobs: int | None = Field(default=None, ge=1)
    """Most jobs; unset: all."""
    tag_prefix: str | None = Field(default=None, min_length=1, max_length=100)
    """How job ids begin, and the folder of the results."""
    choose: Choice = "first"
    """Which combinations stay where there are more than `max_jobs`: the first ones, random ones, or a Sobol
    sequence, which covers the whole grid evenly."""
    seed: int = Field(default=0, ge=0)
    """Of the choice."""


def read_session_file(path: Path) -> SessionFile:
    """Return a session from a YAML or JSON file.

    Raises:
        InputError: it cannot be read, or something in it does not fit.
    """
    content = _content(path)
    if not isinstance(content, dict):
        raise InputError("--session-file", path, "write a mapping, as docs/sessions.md shows")
    given = dict(content)
    if "payload" in given:
        given["payload"] = read_payload("payload", given["payload"])
    else:
        given = _with_backtest(given)
    return checked_session(f"{path}: ", given)


def checked_session(where: str, given: Mapping[str, Any]) -> SessionFile:
    """Return a session from its values; raises InputError, `where` in front of the field."""
    try:
        return SessionFile.model_validate(given)
    except ValidationError as error:
        raise field_error(where, error) from error


def _with_backtest(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the predecessors' form as ours: what is no part of the form is a fixed value."""
    fixed = {name: value for name, value in given.items() if name not in FORM}
    if fixed.get("data_file") is None:
        remedy = "name the CSV file of prices, or say by `payload` what a job does"
        raise InputError("data_file", "(nothing)", remedy)
    fixed = {**BACKTEST_DEFAULTS, **fixed, **given.get("fixed", {})}
    if given.get("tag_prefix") is not None:
        fixed.setdefault("tag", given["tag_prefix"])
    return {**{name: given[name] for name in FORM if name in given}, "fixed": fixed}


def _content(path: Path) -> object:
    try:
        data = read_limited(path, MOST_BYTES)
    except OSError as error:
        remedy = f"give a YAML or JSON file that can be read ({error.strerror})"
        raise InputError("--session-file", path, remedy) from error
    except BadFile as error:
        raise InputError("--session-file", path, str(error)) from error
    try:
        content: object = load_json(data) if path.suffix == ".json" else load_yaml(data)
    except (BadJson, BadYaml) as error:
        raise InputError("--session-file", path, str(error)) from error
    return content
