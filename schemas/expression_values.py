"""Value of an expression for given values. Pure; nothing is looked up but what was given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from schemas.expression_tree import Call, Compare, Join, Literal, Negation, Node, Path

_REDUCED: Mapping[str, Callable[[list[Any]], Any]] = {"max": max, "min": min, "sum": math.fsum}


class _Many(list[Any]):
    """Values of a path in the elements of a list."""


def holds(node: Node, names: Mapping[str, Any]) -> bool:
    """Say whether it holds; of a list any element may be what holds."""
    match node:
        case Join("and", parts):
            return all(holds(part, names) for part in parts)
        case Join(_, parts):
            return any(holds(part, names) for part in parts)
        case Negation(of):
            return not holds(of, names)
        case _:
            value = value_of(node, names)
            return any(map(bool, value)) if isinstance(value, _Many) else bool(value)


def value_of(node: Node, names: Mapping[str, Any]) -> Any:
    """Return its value."""
    match node:
        case Literal(value):
            return value
        case Path(parts):
            return _look(names, parts)
        case Compare(left, sign, right):
            return _compare(value_of(left, names), sign, value_of(right, names))
        case Call(name, arguments):
            return _call_function(name, [value_of(argument, names) for argument in arguments])
        case _:
            return holds(node, names)


def _look(value: Any, parts: tuple[str | int, ...]) -> Any:
    for position, part in enumerate(parts):
        if isinstance(value, list | tuple) and isinstance(part, str):
            found_values = [_look(element, parts[position:]) for element in value]
            flat = _Many()
            for inner in found_values:
                flat.extend(inner) if isinstance(inner, _Many) else flat.append(inner)
            return flat
        value = _below(value, part)
    return _Many(value) if isinstance(value, list | tuple) else value


def _below(value: Any, part: str | int) -> Any:
    if isinstance(part, int):
        inside = isinstance(value, list | tuple) and -len(value) <= part < len(value)
        return value[part] if inside else None
    return value.get(part) if isinstance(value, Mapping) else None


def _compare(left: Any, sign: str, right: Any) -> bool:
    if isinstance(left, _Many):
        return any(_compare(element, sign, right) for element in left)
    if isinstance(right, _Many):
        if sign == "in":
            return left in right
        return any(_compare(left, sign, element) for element in right)
    match sign:
        case "==":
            return bool(left == right)
        case "!=":
            return bool(left != right)
        case "in":
            return isinstance(right, list) and left in right
        case "~":
            return isinstance(left, str) and isinstance(right, str) and right in left
        case _:
            return _compare_order(left, sign, right)


def _compare_order(left: Any, sign: str, right: Any) -> bool:
    numbers = _is_number(left) and _is_number(right)
    texts = isinstance(left, str) and isinstance(right, str)
    if not (numbers or texts):
        return False
    return bool(
        {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign]
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _call_function(name: str, values: list[Any]) -> Any:
    if name == "len":
        return len(values[0]) if isinstance(values[0], list | tuple | str | Mapping) else None
    if name in ("max", "min", "sum", "abs"):
        return _of_numbers(name, values[0])
    left, right = values
    if not (_is_number(left) and _is_number(right)) or (name == "/" and right == 0):
        return None
    return {"+": left + right, "-": left - right, "*": left * right}.get(
        name, left / right if name == "/" else None
    )


def _of_numbers(name: str, numbers_given: Any) -> Any:
    values = (
        [value for value in numbers_given if _is_number(value)]
        if isinstance(numbers_given, list)
        else [numbers_given]
    )
    if not values or not all(map(_is_number, values)):
        return 0 if name == "sum" and isinstance(numbers_given, list) else None
    if name == "abs":
        return abs(values[0])
    return _REDUCED[name](values)
