"""Rules in CEL, compiled and evaluated by the C++ library of the language's authors (cel-expr-python).

The library is loaded when the first rule is compiled: a process without rules does not have it. An evaluation
ends after 10,000 iterations by the library's own limit; how many evaluations one request may ask for is up to
the caller.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from twin.custom.cel_authorizer import ROWS as AUTHORIZER_ROWS
from twin.custom.cel_functions import FREE, MEMBERS, Row
from twin.custom.schema import Node

MISSING = (
    "rules in CEL cannot be evaluated here: the package cel-expr-python is not installed, which has no wheel for every "
    "platform; leave the rules out, or run the twin where it has one"
)
"""What every rule is answered with where the library is missing."""
_KEYWORDS = frozenset({
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if",
    "import", "let", "loop", "package", "namespace", "return", "var", "void", "while",
})  # fmt: skip
_MARKS = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
OLD = "optional_old_self"
_TOKEN = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[A-Za-z_]\w*|[.?(]|\s+|.", re.DOTALL)
_MACROS = re.compile(r"\.(?:all|exists|exists_one|map|filter)\s*\(")
_DURATION = re.compile(r"([0-9.]+)(ns|us|µs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class RuleError(Exception):
    """An expression that cannot be compiled, or whose evaluation failed."""


def escape(name: str) -> str:
    """Return the name by which rules refer to a member; names that cannot be escaped stay."""
    if name in _KEYWORDS:
        return f"__{name}__"
    for mark, word in _MARKS:
        name = name.replace(mark, word)
    return name


@dataclass(frozen=True, slots=True)
class Expression:
    """One compiled expression."""

    program: Any
    returns: str
    """The name of the type of its result, such as BOOL."""
    transition: bool
    """Whether it refers to `oldSelf`."""
    depth: int
    """How many loops it has, at most within one another."""

    def evaluate(self, value: Any, old: Any, *, optional: bool = False) -> Any:
        """Return its result for values that `to_cel` made; raises RuleError."""
        variables = {"self": value, "oldSelf": old}
        if optional:
            variables = {"self": value, OLD: {} if old is None else {"value": old}}
        try:
            result = self.program.eval(data=variables)
        except RuntimeError as error:
            raise RuleError(bare(str(error))) from error
        if result.type().name() == "*error*" or str(result.type()) == "ERROR":
            raise RuleError(bare(str(result.plain_value())))
        return result.plain_value()


def compile_rule(text: str, node: Node, *, optional: bool = False) -> Expression:
    """Compile an expression about a value of a schema; raises RuleError with what is wrong and where.

    `optional`: `oldSelf` is an optional value, which is empty for what is new.
    """
    tokens = _TOKEN.findall(text)
    _check_members(text, tokens, node)
    source = text
    if optional:
        source = with_optional_old(text)
    try:
        program = _environment(_type_of(node), optional).compile(source)
    except ImportError as error:
        raise RuleError(MISSING) from error
    except RuntimeError as error:
        raise RuleError(f"compilation failed: {bare(str(error))}") from error
    depth = len(_MACROS.findall(text))
    return Expression(program, str(program.return_type()), "oldSelf" in tokens, depth)


def with_optional_old(text: str) -> str:
    """Return an expression in which `oldSelf` is an optional value."""
    had = f"has({OLD}.value) ? optional.of({OLD}.value) : optional.none()"
    return f"cel.bind(oldSelf, {had}, {text})"


def to_cel(value: Any, node: Node) -> Any:
    """Return a value as rules see it: escaped names, declared members alone, nulls as absent."""
    if isinstance(value, dict):
        if node.additional is not None and not node.properties:
            inner = node.additional
            return {name: to_cel(each, inner) for name, each in value.items()}
        return _members(value, node)
    if isinstance(value, list):
        items = node.items
        return value if items is None else [to_cel(each, items) for each in value]
    if isinstance(value, int) and not isinstance(value, bool) and node.type == "number":
        return float(value)
    return value


def top_to_cel(value: Any, node: Node) -> Any:
    """Return a value as `self`: texts of times and bytes have their own types there."""
    form = node.source.get("format")
    if isinstance(value, str) and node.type == "string":
        if form in ("date-time", "date"):
            return datetime.fromisoformat(value)
        if form == "duration":
            parts = _DURATION.findall(value)
            return timedelta(
                seconds=math.fsum(float(count) * _SECONDS[unit] for count, unit in parts)
            )
        if form == "byte":
            return base64.b64decode(value)
    return to_cel(value, node)


def _members(value: Mapping[str, Any], node: Node) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for name, each in value.items():
        below = node.properties.get(name)
        if name == "metadata" and (node.root or node.embedded):
            seen[name] = {key: each[key] for key in ("name", "generateName") if key in (each or {})}
        elif name in ("apiVersion", "kind") and (node.root or node.embedded):
            seen[name] = each
        elif below is not None and each is not None:
            seen[escape(name)] = to_cel(each, below)
    return seen


def _check_members(text: str, tokens: list[str], node: Node) -> None:
    """Raise RuleError for a member of `self` or `oldSelf` that the schema does not have."""
    at = 0
    for index, token in enumerate(tokens):
        before = "".join(tokens[:index][-1:])
        if token in ("self", "oldSelf") and before != ".":
            _check_path(text, tokens, index, at, node)
        at += len(token)


def _check_path(text: str, tokens: list[str], index: int, at: int, node: Node) -> None:
    place: Node | None = node
    at += len(tokens[index])
    rest = tokens[index + 1 :]
    while place is not None and len(rest) >= 2 and rest[0] == ".":
        step = 2 if rest[1] == "?" else 1
        if (
            len(rest) <= step
            or not re.match(r"[A-Za-z_]", rest[step])
            or rest[step + 1 : step + 2] == ["("]
        ):
            return
        below = _typed_members(place)
        name = rest[step]
        if below is None:
            return
        if name not in below:
            where = at + 1
            arrow = f"\n | {text}\n | {'.' * (where - 1)}^"
            raise RuleError(
                f"compilation failed: ERROR: <input>:1:{where}: undefined field '{name}'{arrow}"
            )
        at += sum(len(each) for each in rest[: step + 1])
        place, rest = below[name], rest[step + 1 :]


def _typed_members(node: Node) -> dict[str, Node | None] | None:
    """Return the members of an object by their escaped names; None where any may be."""
    if node.type != "object" or node.additional is not None:
        return None
    if node.preserves and not node.properties and not (node.root or node.embedded):
        return None
    members: dict[str, Node | None] = {escape(name): each for name, each in node.properties.items()}
    if node.root or node.embedded:
        members |= dict.fromkeys(("apiVersion", "kind", "metadata"))
    return members


def _type_of(node: Node) -> str:
    """Return the signature of the type that a rule's `self` has."""
    forms = {"date-time": "timestamp", "date": "timestamp", "duration": "duration", "byte": "bytes"}
    if node.int_or_string:
        return "dyn"
    if node.type == "string":
        return forms.get(str(node.source.get("format")), "string")
    if node.type == "array":
        return "list"
    if node.type == "object":
        return "map"
    return {"integer": "int", "number": "double", "boolean": "bool"}.get(node.type, "dyn")


@lru_cache(maxsize=64)
def _environment(kind: str, optional: bool) -> Any:
    from cel_expr_python import cel  # noqa: PLC0415 - 130 ms and 50 MB that few worlds need

    types = cel.Type
    known = {
        "dyn": types.DYN, "string": types.STRING, "int": types.INT, "double": types.DOUBLE,
        "bool": types.BOOL, "bytes": types.BYTES, "timestamp": types.TIMESTAMP, "duration": types.DURATION,
        "list": types.List(types.DYN), "map": types.Map(types.STRING, types.DYN),
    }  # fmt: skip
    own = known[kind]
    variables = {"self": own, "oldSelf": own}
    if optional:
        variables = {"self": own, OLD: types.Map(types.STRING, types.DYN)}
    return cel.NewEnv(variables=variables, extensions=extensions(cel))


def extensions(cel: Any) -> list[Any]:
    """Return what expressions have beside the core of the language: of the library, and of Kubernetes."""
    from cel_expr_python.ext import (  # noqa: PLC0415
        ext_bindings,
        ext_math,
        ext_optional,
        ext_strings,
    )

    return [
        ext_optional.ExtOptional(),
        ext_strings.ExtStrings(),
        ext_math.ExtMath(),
        ext_bindings.ExtBindings(),
        _kubernetes(cel),
    ]


@lru_cache(maxsize=1)
def _kubernetes(cel: Any) -> Any:
    """Return Kubernetes' functions as an extension of the library."""
    types = cel.Type
    letters = {
        "b": types.BOOL, "i": types.INT, "f": types.DOUBLE, "s": types.STRING, "d": types.DYN,
        "L": types.LIST, "M": types.MAP,
    }  # fmt: skip
    overloads: dict[str, list[Any]] = {}

    def add(row: Row, *, member: bool) -> None:
        name, given, result, what = row
        overload = cel.Overload(
            f"kubernetes_{name.replace('.', '_')}_{given}{'_member' if member else ''}",
            return_type=letters[result],
            parameters=[letters[each] for each in given],
            is_member=member,
            impl=what,
        )
        overloads.setdefault(name, []).append(overload)

    for row in (*MEMBERS, *AUTHORIZER_ROWS):
        add(row, member=True)
    for row in FREE:
        add(row, member=False)
    declarations = [cel.FunctionDecl(name, each) for name, each in overloads.items()]
    return cel.CelExtension("kubernetes", declarations)


def bare(text: str) -> str:
    """Return what the library says without its codes, in the words of Kubernetes where they differ."""
    text = re.sub(r"^[A-Z_]+: ", "", text)
    text = re.sub(r" ?\[[A-Z_]+\]$", "", text)
    return re.sub(r'Key not found in map : "([^"]*)"', r"no such key: \1", text)
