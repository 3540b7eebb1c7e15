"""Events from bytes that are proven already: read without validating every number again.

A recording's hashes prove that its bytes are those that a validating producer wrote, so a re-run may
build the same models directly. What cannot be built so is read the usual way.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import orjson
from pydantic import BaseModel, TypeAdapter

from bus.events import event_of
from bus.port import StoredMessage
from schemas.actions import Action, BaseAction
from schemas.envelope import Event, attributes_of
from schemas.frames import FramedData
from schemas.model import EventData
from schemas.registry import BY_TYPE
from schemas.upcast import UPCASTERS

Reader = Callable[[Any], Any]
_PLAIN = (str, int, float, bool, type(None), object)
_MISSING = object()
_NEEDED = tuple(
    (name, f"ce-{name}")
    for name in ("id", "type", "source", "time", "correlationid", "traceparent")
)


_ACTION: TypeAdapter[Action] = TypeAdapter(Action)


class NotDirect(Exception):
    """A type that is not read directly."""


def read_event(message: StoredMessage) -> Event[Any]:
    """Return a message's event.

    Raises:
        UnknownEvent: it is no event that today's code knows.
    """
    attributes = attributes_in(message.headers)
    reader = _reader_of(attributes.get("type", ""))
    if reader is None or "correlationid" not in attributes:
        return event_of(message)
    try:
        return _event(message, attributes, reader(orjson.loads(message.data)))
    except (KeyError, TypeError, ValueError, AttributeError, NotDirect):
        return event_of(message)


def attributes_in(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return the CloudEvents attributes of a message; at once where they stand as we write them."""
    try:
        attributes = {name: headers[header] for name, header in _NEEDED}
    except KeyError:
        return attributes_of(headers)
    attributes["causationid"] = headers.get("ce-causationid", "")
    attributes["confighash"] = headers.get("ce-confighash", "")
    if any("%" in value for value in attributes.values()):
        return attributes_of(headers)
    return attributes


def event_with(message: StoredMessage, data: EventData) -> Event[Any]:
    """Return a message's event with data that are known already."""
    return _event(message, attributes_in(message.headers), data)


def _event(message: StoredMessage, attributes: Mapping[str, str], data: EventData) -> Event[Any]:
    return Event(
        id=attributes["id"],
        type=data.TYPE,
        source=attributes["source"],
        subject=message.subject,
        time=attributes["time"],
        correlation_id=attributes["correlationid"],
        causation_ids=tuple(attributes.get("causationid", "").split()),
        traceparent=attributes.get("traceparent", ""),
        config_hash=attributes.get("confighash", ""),
        data=data,
        seq=message.seq,
        recorded_ns=message.time_ns,
    )


@cache
def _reader_of(event_type: str) -> Reader | None:
    kind = BY_TYPE.get(event_type)
    if kind is None or event_type in UPCASTERS:
        return None
    try:
        return _model(kind)
    except NotDirect:
        return None


@cache
def _model(kind: type[BaseModel]) -> Reader:
    """Return what builds a model from decoded JSON."""
    fields: list[tuple[str, Reader | None, Any]] = []
    for name, field in kind.model_fields.items():
        default = _MISSING if field.is_required() else field.get_default(call_default_factory=True)
        fields.append((name, _reader(field.annotation), default))
    nested = [(name, reader) for name, reader, _ in fields if reader is not None]
    private = {"_full_state": None} if issubclass(kind, FramedData) else None
    put, new = object.__setattr__, kind.__new__
    names = {name for name, _, _ in fields}

    def read(content: dict[str, Any]) -> Any:
        if content.keys() != names:
            content = _fill_fields(content, fields)
        for name, reader in nested:
            content[name] = reader(content[name])
        made = new(kind)
        put(made, "__dict__", content)  # decoded for this event alone
        put(made, "__pydantic_fields_set__", names)
        put(made, "__pydantic_extra__", None)
        put(made, "__pydantic_private__", None if private is None else dict(private))
        return made

    return read


def _fill_fields(
    content: Mapping[str, Any], fields: Sequence[tuple[str, Reader | None, Any]]
) -> dict[str, Any]:
    """Return what the fields hold of an object of another version; defaults where it has nothing.

    Raises:
        KeyError: a field without default is missing.
        NotDirect: a default has to be read, too.
    """
    values: dict[str, Any] = {}
    for name, reader, default in fields:
        value = content.get(name, default)
        if value is _MISSING:
            raise KeyError(name)
        if reader is not None and name not in content and value != ():
            raise NotDirect(name)
        values[name] = value
    return values


def _reader(annotation: Any) -> Reader | None:
    """Return what turns a JSON value into a field's value; None where it is that already."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _reader(arguments[0])
    if origin is Literal or annotation is Any or annotation in _PLAIN:
        return None
    if origin in (Union, types.UnionType):
        return _optional([argument for argument in arguments if argument is not type(None)])
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return _rows(_reader(arguments[0]))
    if origin is dict:
        inner = _reader(arguments[1])
        if inner is None:
            return None
        return lambda value: {name: inner(item) for name, item in value.items()}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return {member.value: member for member in annotation}.__getitem__
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _model(annotation)
    raise NotDirect(str(annotation))


def _rows(inner: Reader | None) -> Reader:
    if inner is None:
        return tuple
    return lambda value: tuple([inner(item) for item in value])


def _optional(kinds: list[Any]) -> Reader | None:
    if all(isinstance(kind, type) and issubclass(kind, BaseAction) for kind in kinds):
        return _ACTION.validate_python
    inner = [_reader(kind) for kind in kinds]
    if all(reader is None for reader in inner):
        return None
    if len(inner) != 1 or inner[0] is None:
        raise NotDirect(str(kinds))
    reader = inner[0]
    return lambda value: None if value is None else reader(value)
