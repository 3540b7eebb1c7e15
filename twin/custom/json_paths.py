"""Simple JSON paths, as printer columns, the scale subresource and selectable fields use them.

Members (`.a.b`, `['a.b']`), items (`[0]`, `[-1]`, `[*]`) and filters (`[?(@.type=="Ready")]`) are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

Step = Callable[[Any], Iterator[Any]]
_STEP = re.compile(
    r"\.(?P<name>(?:\\.|[^.\[\]\\])+)"
    r"|\[\s*'(?P<quoted>(?:\\.|[^'\\])*)'\s*\]|\[\s*\"(?P<double>(?:\\.|[^\"\\])*)\"\s*\]"
    r"|\[(?P<index>-?\d{1,9})\]|(?P<all>\[\*\]|\.\*)"
    r"|\[\?\(\s*@(?P<test>(?:\.[^=!<>()\s]+)+)\s*(?:(?P<sign>==|!=)\s*"
    r"(?:\"(?P<text>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s()]+))\s*)?\)\]"
)
LONGEST = 2_000
"""Characters of a path."""


@lru_cache(maxsize=1_024)
def read_path(path: str) -> tuple[Step, ...]:
    """Read a path that starts with a dot or a bracket; raises ValueError for another."""
    steps: list[Step] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or len(path) > LONGEST:
            raise ValueError("it is no simple JSON path")
        steps.append(_step(match))
        at = match.end()
    if not steps:
        raise ValueError("it is empty")
    return tuple(steps)


def values_at(value: Any, path: str) -> list[Any]:
    """Return what a path finds, in order; nothing for a path that cannot be read."""
    try:
        steps = read_path(path)
    except ValueError:
        return []
    values = [value]
    for step in steps:
        values = [each for one in values for each in step(one)]
    return values


def _step(match: re.Match[str]) -> Step:
    names = (match["name"], match["quoted"], match["double"])
    name = next((each for each in names if each is not None), None)
    if match["all"]:
        return _everything
    if name is not None:
        member = re.sub(r"\\(.)", r"\1", name)
        return lambda value: iter((value[member],) if _has(value, member) else ())
    if match["index"] is not None:
        index = int(match["index"])
        return lambda value: iter(_item(value, index))
    texts = (match["text"], match["single"], match["bare"])
    wanted = next((each for each in texts if each is not None), None)
    return _filter(match["test"], match["sign"], wanted)


def _filter(test: str, sign: str | None, wanted: str | None) -> Step:
    def passes(each: Any) -> bool:
        values = values_at(each, test)
        if sign is None:
            return bool(values)
        return bool(values) and (_text(values[0]) == wanted) is (sign == "==")

    return lambda value: (each for each in _everything(value) if passes(each))


def _everything(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        yield from (value[name] for name in sorted(value))


def _has(value: Any, name: str) -> bool:
    return isinstance(value, dict) and name in value


def _item(value: Any, index: int) -> tuple[Any, ...]:
    fits = isinstance(value, list) and -len(value) <= index < len(value)
    return (value[index],) if fits else ()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
