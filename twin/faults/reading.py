"""Scenario files: YAML or JSON to a checked `Scenario`, or one clear line saying what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from inputs.errors import InputError
from inputs.limited_files import BadFile, read_limited
from inputs.limited_yaml import MOST_BYTES, BadYaml, find_line, load_yaml
from twin.faults.scenario import Fault, Scenario
from twin.traffic import RATE_FILE, recorded_text
from twin.workloads.rate_file import named_file, read_rate_file

LineOf = Callable[[Sequence[int | str]], int | None]
"""From the keys to a place in a document to its line, from one; None where it is not known."""
_MACHINE_KEYS = frozenset({"machines", "groups", "cloud", "karpenter"})
"""What a file of machines (`twin.machines.reading`) may have at its top."""
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
    document = _parse(text, path.name)

    def line_of(place: Sequence[int | str]) -> int | None:
        return find_line(text, place)

    _read_rate_files(document, path, line_of)
    return scenario_of(document, path.name, line_of)


def _read_rate_files(document: object, path: Path, line_of: LineOf) -> None:
    """Put the rates of a file that a fault names in place of its name."""
    faults = document.get("faults") if isinstance(document, dict) else None
    for index, fault in enumerate(faults if isinstance(faults, list) else ()):
        text = fault.get("traffic") if isinstance(fault, dict) else None
        if not isinstance(text, str) or not text.startswith(RATE_FILE):
            continue
        file = named_file(text.removeprefix(RATE_FILE), path.parent)
        if file is None:
            place = ("faults", index, "traffic")
            field = _field(path.name, line_of(place), f"faults[{index}].traffic")
            raise InputError(field, _short(text), "name a .csv file beside the scenario")
        fault["traffic"] = recorded_text(read_rate_file(file))


def scenario_of(document: object, source: str, line_of: LineOf = lambda _: None) -> Scenario:
    """Check a parsed document; `source` names it in the error, `line_of` finds the line of a place in it.

    Raises:
        InputError: a key or value is wrong; only the first is named.
    """
    if not isinstance(document, dict):
        raise InputError(source, _short(document), "begin with `faults:` and a list under it")
    if "faults" not in document and _MACHINE_KEYS & document.keys():
        raise InputError(source, "a file of machines", "give it to --machines")
    try:
        text = json.dumps(document, allow_nan=False)
        return Scenario.model_validate_json(text)
    except ValidationError as error:
        raise _first(error, source, line_of) from error
    except (TypeError, ValueError) as error:
        raise InputError(source, _short(document), f"it is no plain document: {error}") from error


def _parse(text: bytes, source: str) -> object:
    try:
        return load_yaml(text)
    except BadYaml as error:
        where = source if error.line is None else f"{source} line {error.line}"
        raise InputError(where, "unreadable", f"correct the YAML ({error.why})") from error


def _first(error: ValidationError, source: str, line_of: LineOf) -> InputError:
    """Turn the first finding into one line."""
    finding = error.errors()[0]
    where, kind, keys = _place(finding["loc"])
    field = _field(source, line_of(keys) if where else None, where)
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
    if what == "missing":
        return InputError(field, "missing", "add this key")
    value = _short(finding["input"])
    return InputError(field, value, finding["msg"].removeprefix("Value error, "))


def _field(source: str, line: int | None, where: str) -> str:
    """Name a place in a source."""
    file = source if line is None else f"{source} line {line}"
    return f"{file}: {where}" if where else file


def _place(location: tuple[int | str, ...]) -> tuple[str, type[BaseModel], list[int | str]]:
    """Return the path as people write it, the model whose key was meant, and the path's keys."""
    text, kind, previous = "", Scenario, None
    model: type[BaseModel] = kind
    keys: list[int | str] = []
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
            keys.append(part)
        elif isinstance(previous, int) and part in _OF_FAULT:
            model = _OF_FAULT[part]
        else:
            text += f".{part}" if text else part
            keys.append(part)
            if part == "nodes" and part != location[-1]:
                model = _nodes_of(model)
        previous = part
    return text, model, keys


def _nodes_of(kind: type[BaseModel]) -> type[BaseModel]:
    annotation = kind.model_fields["nodes"].annotation
    choices = get_args(annotation) or (annotation,)
    return next(
        choice for choice in choices if isinstance(choice, type) and issubclass(choice, BaseModel)
    )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
