"""From type to model and back: the one encoder and the one decoder of events.

Event types are found, never listed: a file of this folder that declares one is enough. The encoder writes
compact JSON with the standard library, fields in the model's order, so equal events are equal bytes on
every Python version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from inputs.limited_json import load_json
from schemas.envelope import SPEC_VERSION, Event, attributes_of, headers_of
from schemas.identity import cycle_of
from schemas.model import EventData, check_counts, validation_reason
from schemas.subjects import parse
from schemas.upcast import UPCASTERS, upcast

LAYERS: tuple[str, ...] = (
    "snapshot",
    "observation",
    "prediction",
    "proposal",
    "decision",
    "outcome",
)
"""The six layers, in order."""
_DECLARATION = re.compile(r"^    TYPE: ClassVar\[str\] = ", re.MULTILINE)
"""How a file shows that it declares an event type, so that no other file of this folder is imported."""


def _event_types() -> Iterator[type[EventData]]:
    """Yield the classes of this folder that declare a `TYPE`, file by file, in the order of each file."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if _DECLARATION.search(path.read_text(encoding="utf-8")):
            module = import_module(f"schemas.{path.stem}")
            for kind in vars(module).values():
                if (
                    isinstance(kind, type)
                    and issubclass(kind, EventData)
                    and _is_type(kind, module)
                ):
                    yield kind


def _is_type(kind: type[EventData], module: ModuleType) -> bool:
    return kind.__module__ == module.__name__ and "TYPE" in vars(kind)


def _place(kind: type[EventData]) -> int:
    layer = kind.PATTERN[0]
    return LAYERS.index(layer) if layer in LAYERS else len(LAYERS)


EVENT_TYPES: tuple[type[EventData], ...] = tuple(sorted(_event_types(), key=_place))
"""Every event type, in the order of the layers, then what stands beside them."""

BY_TYPE: Mapping[str, type[EventData]] = {kind.TYPE: kind for kind in EVENT_TYPES}


class UnknownEvent(ValueError):
    """A message is not an event this version can read; says why."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """An event as it travels."""

    subject: str
    headers: Mapping[str, str]
    data: bytes


def to_json(value: Any) -> bytes:
    """Write JSON as every event is written: compact, UTF-8, no NaN."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def encode(event: Event[EventData]) -> Encoded:
    """Return subject, headers and bytes of an event."""
    return Encoded(event.subject, headers_of(event), to_json(event.data.model_dump(mode="json")))


def decode(
    subject: str, headers: Mapping[str, str], data: bytes, *, seq: int = 0, recorded_ns: int = 0
) -> Event[EventData]:
    """Read an event, upcasting old versions.

    Raises:
        UnknownEvent: headers are missing, the type is not known, or the data does not fit it or the
            subject.
    """
    attributes = attributes_of(headers)
    if attributes.get("specversion") != SPEC_VERSION:
        raise UnknownEvent(
            f"{subject}: not a CloudEvents {SPEC_VERSION} message (no ce-specversion)"
        )
    try:
        event_type = attributes["type"]
        if event_type in UPCASTERS:
            event_type, content = upcast(event_type, _parse_object(data))
            data = to_json(content)
        read = BY_TYPE[event_type].read(data)
        event = Event(
            id=attributes["id"],
            type=event_type,
            source=attributes["source"],
            subject=subject,
            time=attributes["time"],
            correlation_id=attributes["correlationid"],
            causation_ids=tuple(attributes.get("causationid", "").split()),
            traceparent=attributes.get("traceparent", ""),
            config_hash=attributes.get("confighash", ""),
            data=read,
            seq=seq,
            recorded_ns=recorded_ns,
        )
    except KeyError as error:
        raise UnknownEvent(f"{subject}: unknown or missing {error}") from error
    except (ValueError, RecursionError) as error:
        raise UnknownEvent(
            f"{subject}: data does not fit {attributes.get('type')}: {validation_reason(error)}"
        ) from error
    _check_place(event)
    return event


def _parse_object(data: bytes) -> dict[str, Any]:
    check_counts(data)
    content = load_json(data)
    if not isinstance(content, dict):
        raise ValueError("the data is no JSON object")
    return content


def _check_place(event: Event[EventData]) -> None:
    """Raise UnknownEvent for an event without id, source, time or cycle, or on a subject that its
    data does not name.
    """
    try:
        parsed = parse(event.subject)
        cycle_of(event.correlation_id)
    except ValueError as error:
        raise UnknownEvent(f"{event.subject}: {error}") from error
    if parsed.tokens != event.data.tokens():
        raise UnknownEvent(f"{event.subject}: its data belongs on {'.'.join(event.data.tokens())}")
    for name, value in (("id", event.id), ("source", event.source), ("time", event.time)):
        if not value:
            raise UnknownEvent(f"{event.subject}: ce-{name} is empty")


def patterns(kinds: Iterable[type[EventData]]) -> tuple[tuple[str, ...], ...]:
    """Return the distinct subject patterns of some types, in order."""
    return tuple(dict.fromkeys(kind.PATTERN for kind in kinds))
