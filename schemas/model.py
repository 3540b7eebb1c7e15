"""The base of every event's data: frozen, strict for producers, tolerant for readers.

A producer that misspells a field fails at once (`extra="forbid"`). A reader ignores fields that a
newer producer added (`read`), so a compatible change keeps the type (CloudEvents primer,
versioning).

Anyone who can write to the log can write a message that is expensive to read on purpose. So a reader stops at the
first wrong cell of a list, takes integers of 64 bits only, and counts objects and members before it
reads; the parser itself refuses nesting beyond 200.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema

MOST_OBJECTS: Final = 5_000
"""JSON objects in one event; large state is columns, so the largest real events hold hundreds."""
MOST_MEMBERS: Final = 100_000
"""Members of all objects in one event; a colon inside a text counts, too."""
MOST_VALUES: Final = 120_000
"""Cells and members of one event, counted by commas; the state of 5,000 nodes has 80,000."""
LARGEST_INTEGER: Final = 2**63 - 1
"""A larger one overflows where it becomes a float."""
LONGEST_LINE: Final = 200
"""Characters of the line of an event that has no words of its own."""
MOST_REASON: Final = 300
"""Characters that say why data does not fit."""


def _bound_input(schema: Any, own: Any) -> None:
    """Let lists end at their first wrong element, and integers at 64 bits; models inside have done it.

    Without, a message of 1 MiB of wrong cells made half a million errors: 9 s and 500 MB.
    """
    if isinstance(schema, dict):
        inside = schema["cls"] if schema.get("type") == "model" else own
        if inside is not own and issubclass(inside, DataModel):
            return
        if schema.get("type") in {"list", "tuple"}:
            schema["fail_fast"] = True
        elif schema.get("type") == "int":
            schema.setdefault("le", LARGEST_INTEGER)
            schema.setdefault("ge", -LARGEST_INTEGER - 1)
        for name, inner in schema.items():
            if name not in {"metadata", "ref", "cls"}:
                _bound_input(inner, own)
    elif isinstance(schema, list | tuple):
        for inner in schema:
            _bound_input(inner, own)


class DataModel(BaseModel):
    """A piece of an event's data; the same rules as the whole."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler, /
    ) -> CoreSchema:
        """Bound every list and integer inside."""
        schema = handler(source)
        _bound_input(schema, cls)
        return schema


EVERY_PROCESS: Final = "*"
"""Writer of what each process that handles events says of itself, and the stack."""
EVERY_STATEFUL: Final = "stateful"
"""Writer of what each process that keeps state says of itself."""
EVERY_AGENT: Final = "agent"
"""Writer of what each agent says."""
NOBODY: Final = ""
"""Writer of what stands in imported recordings alone."""


class Retention(StrEnum):
    """How long an event matters, beside the size and age that bound the whole log."""

    LOG = "log"
    """In its place: as long as the log keeps it."""
    FRAMED = "framed"
    """Until the next keyframe of its subject: a part of a log begins with one."""
    STANDING = "standing"
    """Until the next one of its subject: a part of a log carries the newest one from before in front."""
    STATE = "state"
    """Until the next one of its process, which a part of a log begins behind."""


class EventData(DataModel):
    """Data of one event type and version, with everything that others need to know of the type.

    A subclass that declares `TYPE` is an event type. The registry, the identities and their rights, the
    documentation, `tap` and `status`, recordings and the lines for people follow from what it declares.
    """

    TYPE: ClassVar[str]
    """CloudEvents `type`, e.g. `foresail.decision.v1`; an incompatible change makes a new one."""
    WRITER: ClassVar[str]
    """The one identity that may publish it (`bus.identities`), or one of the families above."""
    PATTERN: ClassVar[tuple[str, ...]]
    """Subject tokens after `foresail.<cluster>.`, `*` for a token that the data fills in."""
    RETENTION: ClassVar[Retention] = Retention.LOG
    """How long it matters."""

    @classmethod
    def patterns_of(cls, writer: str) -> tuple[tuple[str, ...], ...]:
        """Return the subjects that a writer may publish, the open token filled in: by default its own name."""
        return (tuple(writer if token == "*" else token for token in cls.PATTERN),)

    def tokens(self) -> tuple[str, ...]:
        """Return the subject tokens after `foresail.<cluster>.`, unescaped."""
        return self.PATTERN

    def line(self) -> str:
        """Return what it says as one line for people; its JSON, cut, where a type has no words of its own."""
        text = self.model_dump_json()
        return text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 3]}..."

    def key(self) -> str:
        """Return what tells this event from others of its type and cycle; part of its identity."""
        return ""

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Validate the JSON that another process wrote, ignoring fields this version does not know.

        Types are not bent: `"1"` is no number here and `1` no text, as the published schema says.

        Raises:
            ValueError: it is no JSON, holds more than an event may hold, or a known field is missing
                or has the wrong type (pydantic.ValidationError).
        """
        check_counts(data)
        return cls.model_validate_json(data, strict=True, extra="ignore")


def check_counts(data: bytes) -> None:
    """Raise ValueError for more objects, members or cells than an event holds; reads nothing."""
    counts = {"objects": data.count(b"{"), "members": data.count(b":"), "values": data.count(b",")}
    most = {"objects": MOST_OBJECTS, "members": MOST_MEMBERS, "values": MOST_VALUES}
    for name, count in counts.items():
        if count > most[name]:
            raise ValueError(f"{count} {name} are more than an event holds ({most[name]})")


def validation_reason(error: Exception) -> str:
    """Return why data does not fit, on one line of bounded length, without listing every cell."""
    if isinstance(error, ValidationError) and error.error_count() <= MOST_REASON:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        text = f"{where}: {first['msg']}" if where else first["msg"]
    elif isinstance(error, ValidationError):
        text = f"{error.error_count()} fields do not fit"
    else:
        text = str(error)
    text = " ".join(text.split())
    return text if len(text) <= MOST_REASON else f"{text[: MOST_REASON - 3]}..."
