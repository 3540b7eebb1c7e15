"""The state hash covers everything: another value anywhere is another hash."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from random import Random
from typing import Any

import numpy as np

from twin.engine import Engine
from twin.records import SLOTS, Record

Build = Callable[..., Engine]
Write = Callable[[Engine, Random], None]
Undo = Callable[[], None]


def other(value: Any) -> Any:
    """Return a value of the same type that differs, None where there is no simple one."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case tuple():
            return (*value, "x")
        case None:
            return 1
        case dict():
            return {**value, "x": 1}
        case _:
            return None


def mutations(owner: Any, name: str, value: Any) -> Iterator[tuple[str, Undo]]:
    """Change one thing after the other within a kept value; each is undone by the caller."""
    if isinstance(value, np.ndarray | dict | list | deque | set):
        yield from change_container(name, value)
    elif isinstance(value, Record):
        for slot in SLOTS[type(value)]:
            yield from change_attribute(value, slot, name)
    elif is_dataclass(value) and not value.__dataclass_params__.frozen:  # type: ignore[union-attr]
        for field in fields(value):
            yield from change_attribute(value, field.name, name)
    elif isinstance(value, tuple):
        for entry in value:
            if isinstance(entry, Record):
                yield from mutations(None, name, entry)
    elif hasattr(owner, name):
        yield from change_attribute(owner, name, type(owner).__name__)


def change_container(name: str, value: Any) -> Iterator[tuple[str, Undo]]:
    """Change a container: an entry less, another order, or another number."""
    if len(value) == 0:
        return
    if isinstance(value, np.ndarray):
        flat, old = value.reshape(-1), value.reshape(-1)[0].copy()
        flat[0] = not old if value.dtype == bool else old + 1
        yield f"{name}[0]", lambda: flat.__setitem__(0, old)
    elif isinstance(value, dict):
        key, whole = next(iter(value)), dict(value)

        def refill() -> None:
            value.clear()
            value.update(whole)

        del value[key]
        yield f"del {name}", refill
        yield from mutations(None, f"{name}[..]", value[key])
        if len(value) > 1:  # order decides walks
            value[key] = value.pop(key)
            yield f"order of {name}", refill
    elif isinstance(value, set):
        gone = min(value)
        value.remove(gone)
        yield f"{name}.remove", lambda: value.add(gone)
    else:
        last = value.pop()
        yield f"{name}.pop", lambda: value.append(last)
        yield from mutations(None, f"{name}[..]", value[-1])


def change_attribute(owner: Any, name: str, where: str) -> Iterator[tuple[str, Undo]]:
    """Change one attribute."""
    old = getattr(owner, name)
    new = other(old)
    if new is not None:
        setattr(owner, name, new)
        yield f"{where}.{name}", lambda: setattr(owner, name, old)


def test_any_change_is_another_hash(build: Build, write: Write) -> None:
    """Every kept value is changed in turn: the hash differs, and is back when the change is."""
    engine = build(6, count=30)
    random = Random(6)
    for _ in range(25):
        engine.advance(engine.now + 3.0)
        write(engine, random)
    before, tried = engine.state_hash(), 0
    for part in engine.parts.values():
        for name, value in part.kept().items():
            if isinstance(value, tuple):
                continue  # where the arrivals stand is not held as such
            live = getattr(part, name)
            actual = [value] if live is value else list(value.values()) if value else []
            for what, undo in (each for one in actual for each in mutations(part, name, one)):
                assert before != engine.state_hash(), what
                undo()
                tried += 1
    assert before == engine.state_hash()
    assert tried > 100


def test_configuration_and_seed_count(build: Build) -> None:
    """Two seeds are two states although nothing has happened yet."""
    assert build(1, count=0).state_hash() != build(2, count=0).state_hash()
