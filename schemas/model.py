"""The base of every event's data: frozen, strict for producers, tolerant for readers.

A producer that misspells a field fails at once (`extra="forbid"`). A reader ignores fields that a
newer producer added (`read`), so a compatible change keeps the type (CloudEvents primer,
versioning).
"""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A piece of an event's data; the same rules as the whole."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class EventData(Part):
    """Data of one event type and version.

    Subclasses name their CloudEvents type in `TYPE` and the subject tokens after
    `foresail.<cluster>.` in `tokens()`.
    """

    TYPE: ClassVar[str]
    """CloudEvents `type`, e.g. `foresail.decision.v1`; an incompatible change makes a new one."""
    PRODUCER: ClassVar[str]
    """The one process, or family of processes, that may publish it."""
    PATTERN: ClassVar[tuple[str, ...]]
    """Subject tokens after the cluster, `*` for a token that the data fills in."""

    def tokens(self) -> tuple[str, ...]:
        """Return the subject tokens after `foresail.<cluster>.`, unescaped."""
        return self.PATTERN

    def key(self) -> str:
        """Return what tells this event from others of its type and cycle; part of its identity."""
        return ""

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Validate the JSON that another process wrote, ignoring fields this version does not know.

        Types are not bent: `"1"` is no number here and `1` no text, as the published schema says.

        Raises:
            pydantic.ValidationError: it is no JSON, or a known field is missing or has the wrong
                type.
        """
        return cls.model_validate_json(data, strict=True, extra="ignore")
