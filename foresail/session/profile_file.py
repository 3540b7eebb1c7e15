"""Settings as a TOML file for `foresail up --config`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def profile_text(tables: Mapping[str, Any], comments: Iterable[str] = ()) -> str:
    """Return tables as TOML, each below its full name; values are JSON's, which TOML reads alike."""
    lines = [*(f"# {comment}" for comment in comments), *_lines("", tables)]
    return "\n".join(lines) + "\n"


def tables_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by `group.field`, tables among them, as nested tables."""
    tables: dict[str, Any] = {}
    for name, value in settings.items():
        *parents, last = name.split(".")
        table = tables
        for parent in parents:
            table = table.setdefault(parent, {})
        if isinstance(value, Mapping):
            table.setdefault(last, {}).update(value)
        else:
            table[last] = value
    return tables


def _lines(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    if name and plain:
        yield from ("", f"[{name}]")
    yield from (f"{key} = {json.dumps(value)}" for key, value in sorted(plain.items()))
    for key, value in sorted(table.items()):
        if isinstance(value, Mapping):
            yield from _lines(f"{name}.{key}" if name else key, value)
