"""What the agent has changed and what was there before, as its file says it; pure."""

from __future__ import annotations

from pydantic import ValidationError

from schemas.limited_json import load_json
from schemas.model import DataModel
from schemas.node_limits import LimitRequest

MOST_BYTES = 2**20
"""Of the file: a machine of a thousand policies has 150 kB."""


class Change(DataModel):
    """One knob that we have turned."""

    knob: str
    former: str
    """Its text before us."""
    ours: str
    """What we wrote; or what the kernel made of it, where that is more."""


class Kept(DataModel):
    """Everything that has to be known to give back."""

    boot: str
    """The boot in which it was changed: the kernel begins anew with each."""
    changes: tuple[Change, ...] = ()
    given_up: tuple[LimitRequest, ...] = ()
    """Limits that somebody else has raised since: theirs holds."""

    def change(self, knob: str) -> Change | None:
        """Return what was changed of a knob."""
        return next((one for one in self.changes if one.knob == knob), None)


def read_kept(text: bytes) -> Kept:
    """Read the file.

    Raises:
        ValueError: it was not written by this agent.
    """
    try:
        return Kept.model_validate(load_json(text, most_bytes=MOST_BYTES))
    except ValidationError as error:
        raise ValueError(f"{error.error_count()} fields do not fit") from error


def of_this_boot(kept: Kept | None, boot: str) -> Kept:
    """Return what still has to be given back: nothing of what was changed before the machine was started anew."""
    return kept if kept is not None and kept.boot == boot else Kept(boot=boot)
