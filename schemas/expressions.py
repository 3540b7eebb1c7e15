"""A small language to ask questions of events and results: `score > 0.8 and action.kind == 'noop'`.

It reads values by name and compares them; it cannot call Python, loop, or change anything, and its
size is bounded. What is wrong with an expression is one sentence that shows where.

```
score > 0.8                                a field of the event's data
nodes.risk_ratio >= 0.9                    a list holds when any of its elements does
overridden.efficiency.rule == 'all_noop'   a key of a mapping; considered[0].score: an element
reason in ['pdb', 'conflict'] or text ~ 'budget'
len(operations) >= 2 and not succeeded     len, max, min, sum, abs
reward >= baseline * 1.02                  + - * / on numbers
```

A name that is not there is `null`. `null` equals only `null`, and no order comparison with it
holds; neither does one between values of different types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from schemas.expression_text import ExpressionError, Token, tokens_of
from schemas.expression_tree import (
    Call,
    Compare,
    Join,
    Literal,
    Negation,
    Node,
    Path,
    paths_in,
    rewritten,
)
from schemas.expression_values import holds, value_of

__all__ = ["Expression", "ExpressionError", "compile_expression"]

DEEPEST = 30
"""Levels of brackets and `not`."""
COMPARISONS = ("==", "!=", "<=", ">=", "<", ">", "~", "in")
FUNCTIONS = ("len", "max", "min", "sum", "abs")


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression."""

    text: str
    tree: Node

    def holds(self, names: Mapping[str, Any]) -> bool:
        """Say whether it holds for these values (JSON values by name)."""
        return holds(self.tree, names)

    def value(self, names: Mapping[str, Any]) -> Any:
        """Return what it comes to."""
        return value_of(self.tree, names)

    def paths(self) -> tuple[Path, ...]:
        """Return every name that is read, in order, each once."""
        return tuple(dict.fromkeys(paths_in(self.tree)))

    def rewritten(self, change: Callable[[Compare], Compare]) -> Expression:
        """Return it with every comparison changed, for callers with words of their own."""
        return Expression(self.text, rewritten(self.tree, change))


def compile_expression(text: str) -> Expression:
    """Read an expression.

    Raises:
        ExpressionError: it cannot be read; says what and where.
    """
    reader = _Reader(text)
    tree = reader.disjunction(0)
    reader.expect("end")
    return Expression(text, tree)


class _Reader:
    """Recursive descent over the tokens."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._at = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self, *words: str) -> Token | None:
        """Take the next token when it is one of these words or kinds."""
        token = self._next
        if token.word not in words:
            return None
        self._at += 1
        return token

    def expect(self, word: str) -> Token:
        token = self._take(word)
        if token is None:
            expected = "nothing more" if word == "end" else f"`{word}`"
            raise self._error(f"expected {expected}, found {self._next.error_text}")
        return token

    def _error(self, what: str) -> ExpressionError:
        return ExpressionError(self._text, self._next.position, what)

    def disjunction(self, depth: int) -> Node:
        return self._join("or", self._conjunction, depth)

    def _conjunction(self, depth: int) -> Node:
        return self._join("and", self._negation, depth)

    def _join(self, word: str, part: Callable[[int], Node], depth: int) -> Node:
        parts = [part(depth)]
        while self._take(word):
            parts.append(part(depth))
        return parts[0] if len(parts) == 1 else Join(word, tuple(parts))

    def _negation(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise self._error(f"more than {DEEPEST} levels; write it flatter")
        if self._take("not"):
            return Negation(self._negation(depth + 1))
        left = self._sum(depth)
        sign = self._take(*COMPARISONS)
        if sign is None:
            return left
        right = self._sum(depth)
        if self._next.word in COMPARISONS:
            raise self._error("comparisons do not chain; join two with `and`")
        return Compare(left, sign.word, right)

    def _sum(self, depth: int) -> Node:
        left = self._product(depth)
        while sign := self._take("+", "-"):
            left = Call(sign.word, (left, self._product(depth)))
        return left

    def _product(self, depth: int) -> Node:
        left = self._factor(depth)
        while sign := self._take("*", "/"):
            left = Call(sign.word, (left, self._factor(depth)))
        return left

    def _factor(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise self._error(f"more than {DEEPEST} levels; write it flatter")
        if self._take("-"):
            return Call("-", (Literal(0), self._factor(depth + 1)))
        if self._take("("):
            inner = self.disjunction(depth + 1)
            self.expect(")")
            return inner
        if self._take("["):
            return self._list()
        token = self._take("number", "text", "constant", "name")
        if token is None:
            raise self._error(f"expected a name or a value, found {self._next.error_text}")
        if token.word != "name":
            return Literal(token.value)
        if self._take("("):
            return self._call(token, depth)
        return self._path(token)

    def _list(self) -> Literal:
        values: list[Any] = []
        while not self._take("]"):
            if values:
                self.expect(",")
            token = self._take("number", "text", "constant")
            if token is None:
                raise self._error(f"expected a value, found {self._next.error_text}")
            values.append(token.value)
        return Literal(values)

    def _call(self, name: Token, depth: int) -> Call:
        if name.value not in FUNCTIONS:
            self._at -= 2
            raise self._error(f"no function {name.value}; there are {', '.join(FUNCTIONS)}")
        argument = self._sum(depth + 1)
        self.expect(")")
        return Call(name.value, (argument,))

    def _path(self, first: Token) -> Path:
        parts: list[str | int] = [first.value]
        while True:
            if self._take("."):
                part = self._take("name", "constant")
                if part is None:
                    raise self._error(f"expected a name after `.`, found {self._next.error_text}")
                parts.append(str(part.text))
            elif self._take("["):
                key = self._take("number", "text")
                if key is None or isinstance(key.value, float):
                    raise self._error("write a whole number or a 'key' between [ and ]")
                parts.append(key.value)
                self.expect("]")
            else:
                return Path(tuple(parts))
