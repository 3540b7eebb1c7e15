"""Scenario files: YAML or JSON to a checked `Scenario`, or one clear line saying what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from bus.errors import InputError
from bus.limited_files import BadFile, read_limited
from bus.limited_yaml import MOST_BYTES, BadYaml, load_yaml
from twin.faults.scenario import Fault, Scenario

_OF_FAULT: dict[str, type[BaseModel]] = {
    get_args(kind.model_fields["fault"].annotation)[0]: kind for kind in get_args(Fault)
}


def read_scenario(path: Path) -> Scenario:
    """Read and check a scenario file.

    Raises:
        InputError: it cannot be read, or a key or value in it is wrong; names file and key or line.
    """
    try:
        text = read_limited(path, MOST_BYTES)
    except OSError as error:
        raise InputError("scenario", path, f"give a readable file ({error.strerror})") from error
    except BadFile as error:
        raise InputError("scenario", path, f"keep it below {MOST_BYTES} bytes") from error
    return scenario_of(_parse(text, path.name), path.name)


def scenario_of(document: object, source: str) -> Scenario:
    """Check a parsed document; `source` names it in the error.

    Raises:
        InputError: a key or value is wrong; only the first is named.
    """
    if not isinstance(document, dict):
        raise InputError(source, _short(document), "begin with `faults:` and a list under it")
    try:
        text = json.dumps(document, allow_nan=False)
        return Scenario.model_validate_json(text)
    except ValidationError as error:
        raise _first(error, source) from error
    except (TypeError, ValueError) as error:
        raise InputError(source, _short(document), f"it is no plain document: {error}") from error


def _parse(text: bytes, source: str) -> object:
    try:
        return load_yaml(text)
    except BadYaml as error:
        where = source if error.line is None else f"{source} line {error.line}"
        raise InputError(where, "unreadable", f"correct the YAML ({error.why})") from error


def _first(error: ValidationError, source: str) -> InputError:
    """Turn the first finding into one line."""
    finding = error.errors()[0]
    where, kind = _place(finding["loc"])
    field = f"{source}: {where}" if where else source
    what = finding["type"]
    if what == "extra_forbidden":
        known = ", ".join(sorted(kind.model_fields))
        return InputError(field, _short(finding["input"]), f"unknown key; known here: {known}")
    if what in ("union_tag_invalid", "union_tag_not_found"):
        fault_input = finding["input"]
        value = (
            fault_input.get("fault", "missing") if isinstance(fault_input, dict) else fault_input
        )
        remedy = f"give one of {', '.join(sorted(_OF_FAULT))}"
        return InputError(f"{field}.fault", _short(value), remedy)
    value = "missing" if what == "missing" else _short(finding["input"])
    return InputError(field, value, finding["msg"].removeprefix("Value error, "))


def _place(location: tuple[int | str, ...]) -> tuple[str, type[BaseModel]]:
    """Return the path as people write it, and the model whose key was meant."""
    text, kind, previous = "", Scenario, None
    model: type[BaseModel] = kind
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif isinstance(previous, int) and part in _OF_FAULT:
            model = _OF_FAULT[part]
        else:
            text += f".{part}" if text else part
            if part == "nodes" and part != location[-1]:
                model = _nodes_of(model)
        previous = part
    return text, model


def _nodes_of(kind: type[BaseModel]) -> type[BaseModel]:
    annotation = kind.model_fields["nodes"].annotation
    choices = get_args(annotation) or (annotation,)
    return next(
        choice for choice in choices if isinstance(choice, type) and issubclass(choice, BaseModel)
    )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
