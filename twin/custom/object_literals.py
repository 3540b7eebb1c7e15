"""`Object{...}` and `JSONPatch{...}` in the expressions of policies that change objects.

The library knows no messages of these names. To it each is a map that names its own type under `@type`, and places in
its sentences are told as they are in the expression that somebody wrote. Source: kubernetes/kubernetes
staging/src/k8s.io/apiserver/pkg/cel/mutation at 1.36.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from twin.custom.cel import RuleError

TYPE = "@type"
"""Under which a made object names its type."""
OBJECT, JSON_PATCH = "Object", "JSONPatch"
_PATCH_FIELDS = {"op": "string", "path": "string", "from": "string", "value": ""}
_TOKEN = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[A-Za-z_]\w*|\s+|.", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_PLACE = re.compile(r"<input>:(\d+):(\d+): ([^\n]*)(?:\n \| [^\n]*\n \| \.*\^)?")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Plain:
    """An expression without such literals."""

    given: str
    source: str
    """What the library compiles."""
    places: tuple[int, ...]
    """Where in what was given each letter of the source comes from."""
    literals: tuple[str, ...]
    """Names of the types that it makes."""

    def told(self, error: RuleError) -> RuleError:
        """Return an error with its places as they are in what was given."""
        return RuleError(_PLACE.sub(self._told_place, str(error)))

    def _told_place(self, match: re.Match[str]) -> str:
        line, column = int(match[1]), int(match[2])
        start = sum(len(each) + 1 for each in self.source.split("\n")[: line - 1])
        index = min(start + column - 1, len(self.places) - 1)
        return place_text(self.given, self.places[index], match[3])


def place_text(text: str, at: int, why: str) -> str:
    """Return what is wrong with an expression at one of its letters, as the library says such a thing."""
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    shown = text.split("\n")[line - 1]
    return f"<input>:{line}:{column}: {why}\n | {shown}\n | {'.' * (column - 1)}^"


@dataclass(slots=True)
class _Writing:
    """A source that is being written."""

    parts: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def add(self, text: str, at: int, *, own: bool = False) -> None:
        """Add letters of the given text from `at` on, or some of our `own` that stand for what is there."""
        self.parts.append(text)
        self.places += [at] * len(text) if own else range(at, at + len(text))


@lru_cache(maxsize=512)
def without_literals(text: str) -> Plain:
    """Return an expression with maps in place of literals; raises RuleError for a field that no JSONPatch has."""
    tokens = [(match[0], match.start()) for match in _TOKEN.finditer(text)]
    writing, open_braces = _Writing(), []
    made_types: dict[str, None] = {}
    names_field, index = False, 0
    while index < len(tokens):
        token, at = tokens[index]
        made = _type_at(tokens, index)
        if made is not None:
            name, index = made
            made_types[name] = None
            writing.add(f'{{"{TYPE}": dyn("{name}")', at, own=True)
            if not _is_empty(tokens, index):
                writing.add(", ", at, own=True)
            open_braces.append(name)
            names_field = True
            continue
        if names_field and _NAME.match(token):
            _check_field(text, tokens, index, open_braces[-1])
            writing.add(f'"{token}"', at, own=True)
            names_field = False
        else:
            writing.add(token, at)
            if token in _OPENING:
                open_braces.append("")
            elif token in _CLOSING and open_braces:
                open_braces.pop()
                names_field = False
            elif token == "," and open_braces:
                names_field = bool(open_braces[-1])
        index += 1
    writing.places.append(len(text))
    return Plain(text, "".join(writing.parts), tuple(writing.places), tuple(made_types))


def _type_at(tokens: list[tuple[str, int]], index: int) -> tuple[str, int] | None:
    """Return the type that a literal here makes, and the index behind its brace; None where none begins."""
    name = tokens[index][0]
    if name not in (OBJECT, JSON_PATCH) or (index and tokens[index - 1][0] == "."):
        return None
    index += 1
    while (
        name != JSON_PATCH
        and index + 1 < len(tokens)
        and tokens[index][0] == "."
        and _NAME.match(tokens[index + 1][0])
    ):
        name = f"{name}.{tokens[index + 1][0]}"
        index += 2
    while index < len(tokens) and tokens[index][0].isspace():
        index += 1
    return (name, index + 1) if index < len(tokens) and tokens[index][0] == "{" else None


def _is_empty(tokens: list[tuple[str, int]], index: int) -> bool:
    rest = (token for token, _ in tokens[index:] if not token.isspace())
    return next(rest, "") == "}"


def _check_field(text: str, tokens: list[tuple[str, int]], index: int, made: str) -> None:
    """Raise RuleError for a field of a JSONPatch that none has, or of a plain value that it may not have."""
    name = tokens[index][0]
    if made != JSON_PATCH:
        return
    rest = [each for each in tokens[index + 1 :] if not each[0].isspace()]
    colon, value = (rest[0][1], rest[1][0]) if len(rest) > 1 else (len(text), "")
    wanted = _PATCH_FIELDS.get(name)
    found = "string" if value[:1] in "\"'" and value else "int" if value.isdigit() else "dyn"
    if wanted == "" or (wanted == found or (wanted and found == "dyn")):
        return
    why = f"expected type of field '{name}' is '{wanted or ''}' but provided type is '{found}'"
    raise RuleError(f"compilation failed: ERROR: {place_text(text, colon, why)}")


class WrongType(Exception):
    """A literal of one type at the place of another."""


def made_value(value: Any, path: str = "") -> Any:
    """Return what literals made, without the names of their types; raises WrongType where one does not stand at
    the place of its type. `path` is the type that is wanted; empty: whichever it is.
    """
    if isinstance(value, list):
        return [made_value(each, path) for each in value]
    if not isinstance(value, dict):
        return value
    path = path or str(value.get(TYPE, ""))
    name = value.get(TYPE, path)
    if name != path:
        raise WrongType(
            f'unexpected type name "{name}", expected "{path}", which matches field name path from root Object type'
        )
    return {key: made_value(each, f"{path}.{key}") for key, each in value.items() if key != TYPE}
