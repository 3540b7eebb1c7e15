"""Conditions on events, as `foresail tap --where` and the dashboard's log take them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from inputs.errors import InputError
from schemas.actions import BaseAction
from schemas.decision import Decision, DecisionPart
from schemas.envelope import Event
from schemas.expressions import Expression, ExpressionError, compile_expression
from schemas.frames import FramedData
from schemas.model import DataModel
from schemas.subjects import parse

ENVELOPE = ("seq", "id", "type", "time", "layer", "subject", "producer", "cycle", "data")
"""Names that every event has, beside the fields of its data."""


def condition(text: str, kinds: Sequence[type[DataModel]]) -> Expression:
    """Read `--where`, and see that some event of these kinds has every field it names.

    Raises:
        InputError: it cannot be read, or names a field that no such event has.
    """
    try:
        expression = compile_expression(text)
    except ExpressionError as error:
        raise InputError("--where", text, str(error)) from error
    kinds = (*kinds, DecisionPart) if Decision in kinds else kinds
    for path in expression.paths():
        parts = [part for part in path.parts if isinstance(part, str)]
        parts = parts[1:] if parts[0] == "data" and len(parts) > 1 else parts
        if parts[0] not in ENVELOPE and not any(_has(kind, parts) for kind in kinds):
            raise InputError("--where", text, f"no event here has `{path}`; {_near(parts, kinds)}")
    return expression


def _near(parts: Sequence[str], kinds: Sequence[type[DataModel]]) -> str:
    known = sorted({name for kind in kinds for name in kind.model_fields} | set(ENVELOPE))
    near = difflib.get_close_matches(parts[0], known, n=3, cutoff=0.6)
    return f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}"


def _has(kind: Any, parts: Sequence[str]) -> bool:
    """Say whether a value of this type can have something under a path."""
    if not parts:
        return True
    return any(_below(choice, parts) for choice in _choices(kind))


def _below(kind: Any, parts: Sequence[str]) -> bool:
    if isinstance(kind, type) and issubclass(kind, BaseAction) and parts[0] == "parameters":
        return len(parts) == 1 or parts[1] in kind.parameter_names()
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        model_field = kind.model_fields.get(parts[0])
        return model_field is not None and _has(model_field.annotation, parts[1:])
    if get_origin(kind) is dict:
        return _has(get_args(kind)[1], parts[1:])
    return kind is Any


def _choices(kind: Any) -> Iterator[Any]:
    """Yield the types a value may have; of a list, those of its elements."""
    origin = get_origin(kind)
    if origin in (Union, UnionType, tuple, list):
        for argument in get_args(kind):
            yield from _choices(argument)
    elif hasattr(kind, "__metadata__"):
        yield from _choices(get_args(kind)[0])
    else:
        yield kind


def names_of(event: Event[Any]) -> dict[str, Any]:
    """Return what an expression can ask of an event: its data's fields, of a decision also those of its first
    part, and the envelope's.
    """
    data = full_data(event) or event.data.model_dump(mode="json")
    first = data["parts"][0] if isinstance(event.data, Decision) else {}
    envelope = {
        "seq": event.seq,
        "id": event.id,
        "type": event.type,
        "time": event.time,
        "layer": parse(event.subject).layer,
        "subject": event.subject,
        "producer": event.producer,
        "cycle": event.cycle,
        "data": data,
    }
    return {**envelope, **first, **data}


def full_data(event: Event[Any]) -> dict[str, Any] | None:
    """Return an event's data as JSON values with its tables whole; None when it carries no state."""
    state = event.data.full_state if isinstance(event.data, FramedData) else None
    if state is None:
        return None
    data: dict[str, Any] = event.data.model_dump(mode="json")
    for name, table in state.tables.items():
        data[name] = _columns(table)
    return data


def _columns(table: Any) -> Mapping[str, Any]:
    return {name: list(getattr(table, name)) for name in type(table).model_fields}
