"""Parts of an expression, and how to walk over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, text, true, false, null or a list of them."""

    value: Any


@dataclass(frozen=True, slots=True)
class Path:
    """A name, and what is below it."""

    parts: tuple[str | int, ...]

    def __str__(self) -> str:
        """Write it as it was given."""
        first, *rest = self.parts
        return str(first) + "".join(
            f".{part}" if isinstance(part, str) else f"[{part}]" for part in rest
        )


@dataclass(frozen=True, slots=True)
class Call:
    """One of the few functions, or arithmetic by its sign."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """Two values and how they are compared."""

    left: Node
    sign: str
    right: Node


@dataclass(frozen=True, slots=True)
class Negation:
    """A negated condition."""

    of: Node


@dataclass(frozen=True, slots=True)
class Join:
    """Conditions that must hold together (`and`), or one of it (`or`)."""

    word: str
    parts: tuple[Node, ...]


Node = Literal | Path | Call | Compare | Negation | Join


def paths_in(node: Node) -> Iterator[Path]:
    """Yield every name that is read."""
    match node:
        case Path():
            yield node
        case Join(_, parts) | Call(_, parts):
            for part in parts:
                yield from paths_in(part)
        case Negation(of):
            yield from paths_in(of)
        case Compare(left, _, right):
            yield from paths_in(left)
            yield from paths_in(right)
        case _:
            return


def rewritten(node: Node, change: Callable[[Compare], Compare]) -> Node:
    """Return the tree with every comparison changed."""
    match node:
        case Compare():
            return change(node)
        case Join(word, parts):
            return Join(word, tuple(rewritten(part, change) for part in parts))
        case Negation(of):
            return Negation(rewritten(of, change))
        case _:
            return node
