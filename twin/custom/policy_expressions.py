"""Expressions of policies: compiled with the names that they may use, and evaluated with variables by need.

A variable has the type of its expression. To the library `variables.size` is one name, `variables_size`, which is as
long, so that places in its sentences stay right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from twin.custom.cel import RuleError
from twin.custom.cel_requests import compile_expression, evaluate, result_type
from twin.records import Object

_NAMES = ("object", "oldObject", "request", "namespaceObject")
AUTHORIZER = "authorizer"
_OPEN = re.compile(r"\b(?:request|namespaceObject|authorizer)\b")
"""Names that have a type in Kubernetes and none here."""
_TEXT = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
_REFERENCE = re.compile(rf"{_TEXT}|(?<![\w.])variables(\.)([A-Za-z_]\w*)")
_TYPES = {"BOOL": "bool", "STRING": "string", "INT": "int", "UINT": "uint", "DOUBLE": "double",
          "NULL": "null_type", "BYTES": "bytes", "LIST": "list", "MAP": "map", "DYN": "dyn"}  # fmt: skip


def names_for(*, params: bool, authorizer: bool = True) -> tuple[str, ...]:
    """Return the names that an expression may use beside variables."""
    return (*_NAMES, *(("params",) if params else ()), *((AUTHORIZER,) if authorizer else ()))


def check_expression(
    text: str,
    names: tuple[str, ...],
    variables: Mapping[str, str] | None,
    allowed: Sequence[str],
) -> str:
    """Return what is wrong with an expression, in a real server's words, or nothing.

    `variables` are those that stand before it with their types, None where there are none at all; `allowed` the types
    that it may have (none: any).
    """
    for at, name in _references(text) if variables is not None else ():
        if name not in (variables or {}):
            where = place_text(text, at, f"undefined field '{name}'")
            return f"compilation failed: ERROR: {where}"
    try:
        found = type_of(text, names, variables)
    except RuleError as error:
        return str(error)
    if not allowed or found in allowed or (found == "dyn" and _OPEN.search(text)):
        return ""
    wanted = allowed[0] if len(allowed) == 1 else f"one of [{' '.join(allowed)}]"
    return f"must evaluate to {wanted} but got {found}"


def type_of(text: str, names: tuple[str, ...], variables: Mapping[str, str] | None) -> str:
    """Return the type of an expression as Kubernetes names it, such as `bool`; raises RuleError."""
    kind = result_type(_compiled(text, names, variables or {}))
    return next((word for mark, word in _TYPES.items() if kind.startswith(mark)), kind.lower())


class Scope:
    """The values of one request under one policy; variables are computed when they are asked for."""

    def __init__(self, variables: Iterable[Object], values: Mapping[str, Any]) -> None:
        self._texts = {one["name"]: one["expression"] for one in variables}
        self._values = dict(values)
        self._names = names_for(params="params" in values)
        self._types: dict[str, str] = {}
        self._known: dict[str, Any] = {}
        for name, text in self._texts.items():
            self._types[name] = type_of(text, self._names, self._types)

    def evaluate(self, text: str) -> Any:
        """Return the value of an expression; raises RuleError."""
        given = {name: self._values[name] for name in self._names}
        used = dict.fromkeys(name for _, name in _references(text) if name in self._texts)
        given |= {f"variables_{name}": self._variable(name) for name in used}
        types = {name: self._types[name] for name in used}
        return evaluate(_compiled(text, self._names, types), given)

    def _variable(self, name: str) -> Any:
        if name not in self._known:
            try:
                self._known[name] = self.evaluate(self._texts[name])
            except RuleError as error:
                why = f'composited variable "{name}" fails to evaluate: {error}'
                self._known[name] = RuleError(why)
        found = self._known[name]
        if isinstance(found, RuleError):
            raise found
        return found


def _compiled(text: str, names: tuple[str, ...], variables: Mapping[str, str]) -> Any:
    source = list(text)
    types = []
    for at, name in _references(text):
        if name in variables:
            source[at] = "_"
            types.append((f"variables_{name}", variables[name]))
    try:
        return compile_expression("".join(source), names, tuple(dict.fromkeys(types)))
    except RuleError as error:
        raise RuleError(re.sub(r"\bvariables_(\w+)", r"variables.\1", str(error))) from error


def _references(text: str) -> list[tuple[int, str]]:
    """Return (place of the point, name) of each variable that an expression refers to."""
    found = _REFERENCE.finditer(text)
    return [(match.start(1), match[2]) for match in found if match[2] is not None]


def place_text(text: str, at: int, why: str) -> str:
    """Return what is wrong with an expression at one of its letters, as the library says such a thing."""
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    shown = text.split("\n")[line - 1]
    return f"<input>:{line}:{column}: {why}\n | {shown}\n | {'.' * (column - 1)}^"
