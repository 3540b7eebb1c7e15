"""What the page packs comes back as it was."""

from __future__ import annotations

import pickle
import zlib
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, PrivateAttr

from services.dashboard.packing import packed, unpacked
from tests.dashboard.test_past import reduced


class Model(BaseModel):
    """Two fields, one of which need not be given."""

    model_config = ConfigDict(frozen=True)
    name: str
    size: int = 3


class Loose(BaseModel):
    """Fields that nobody declared."""

    model_config = ConfigDict(extra="allow")


class Private(BaseModel):
    """Something beside its fields."""

    _hidden: int = PrivateAttr(default=1)


@dataclass(frozen=True, slots=True)
class Plain:
    """A call makes it again."""

    name: str
    parts: tuple[object, ...] = ()


@dataclass(slots=True)
class Counted:
    """A call would do more than set its fields."""

    name: str
    made: int = 0

    def __post_init__(self) -> None:
        self.made += 1


@dataclass(slots=True)
class Inner:
    """A field that no call takes."""

    name: str
    seen: list[int] = field(default_factory=list, init=False)


@dataclass(frozen=True)
class Open:
    """One that can be given more than its fields."""

    name: str


def private(hidden: int) -> Private:
    """Return one with a value of its own."""
    made = Private()
    made._hidden = hidden
    return made


def inner(name: str, seen: int) -> Inner:
    """Return one that has seen something."""
    made = Inner(name)
    made.seen.append(seen)
    return made


def opened(name: str, more: int) -> Open:
    """Return one that knows more than its fields."""
    made = Open(name)
    made.__dict__["more"] = more
    return made


@pytest.mark.parametrize(
    "content",
    [
        Model(name="a"), Model(name="a", size=4), Loose.model_validate({"any": 1}), private(5),
        Plain("a", (Model(name="b"), Plain("c"))), Counted("a"), inner("a", 7), opened("a", 9), {"a": [1, None]},
    ],
)  # fmt: skip
def test_everything_comes_back_as_it_was(content: Any) -> None:
    """Its fields, which of them were given, and what it has beside them."""
    back = unpacked(packed(content))

    assert back == content
    assert type(back) is type(content)
    assert getattr(back, "__dict__", None) == getattr(content, "__dict__", None)
    assert getattr(back, "model_fields_set", None) == getattr(content, "model_fields_set", None)
    if isinstance(content, BaseModel):
        assert back.model_dump(exclude_unset=True) == content.model_dump(exclude_unset=True)


def test_what_stands_there_twice_comes_back_as_one_object() -> None:
    """So a page weighs as much as before."""
    model, plain = Model(name="a"), Plain("b")
    back = unpacked(packed([model, plain, model, plain]))

    assert back[0] is back[2]
    assert back[1] is back[3]


async def test_a_page_is_smaller_than_by_pickle() -> None:
    """Though it is compressed with little effort, too."""
    page, _ = await reduced(201)
    content = packed(page)

    assert unpacked(content) == page
    assert len(content) < len(zlib.compress(pickle.dumps(page, pickle.HIGHEST_PROTOCOL), 1))
