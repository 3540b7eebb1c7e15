"""Settings in force at a moment: of each process every value, whether it is the default, and when it changed. Pure.

The log says what is in force, not who gave it: a value that differs from the default of its group was set, by
a file, the environment, a flag, or the stack, which works some of them out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from schemas.config import Config
from schemas.envelope import Event
from services.dashboard.cycle_json import MILLISECOND_NS, Json

DEFAULTS = Path(__file__).with_name("setting_defaults.json")
"""Written by `python -m docs.make_settings`."""
AGENT = "agent-"


@dataclass(frozen=True, slots=True)
class ConfigVersion:
    """Settings that a process announced."""

    seq: int
    recorded_ms: int
    config_hash: str
    code_version: str
    model_ids: tuple[str, ...]
    values: dict[str, Any]
    """By dotted name."""


@dataclass(slots=True)
class SettingsBook:
    """Every announcement of settings, by process, oldest first."""

    versions: dict[str, list[ConfigVersion]] = field(default_factory=dict)

    def add(self, event: Event[Any]) -> None:
        """Take in one event."""
        data = event.data
        if not isinstance(data, Config):
            return
        values = dict(_flat("", data.settings))
        version = ConfigVersion(
            event.seq,
            event.recorded_ns // MILLISECOND_NS,
            data.config_hash,
            data.code_version,
            data.model_ids,
            values,
        )
        self.versions.setdefault(data.process, []).append(version)

    def as_json(self) -> list[Json]:
        """Return each process with its values, those that changed or are not the default first."""
        return [
            _process_json(process, versions) for process, versions in sorted(self.versions.items())
        ]


@cache
def defaults() -> dict[str, Json]:
    """Return of each setting `group.field` its default, its meaning and its flag."""
    content: dict[str, Json] = json.loads(DEFAULTS.read_text(encoding="utf-8"))
    return content


def _process_json(process: str, versions: list[ConfigVersion]) -> Json:
    newest = versions[-1]
    rows = [_row(process, name, versions) for name in newest.values]
    order = {"changed": 0, "set": 1, "worked out": 2, "default": 3}
    return {
        "process": process,
        "config_hash": newest.config_hash,
        "code_version": newest.code_version,
        "model_ids": list(newest.model_ids),
        "versions": [
            {"seq": one.seq, "ms": one.recorded_ms, "config_hash": one.config_hash}
            for one in versions
        ],
        "rows": sorted(rows, key=lambda row: order[row["origin"]]),
    }


def _row(process: str, name: str, versions: list[ConfigVersion]) -> Json:
    value = versions[-1].values[name]
    changes = [
        {"seq": after.seq, "before": before.values.get(name), "after": after.values.get(name)}
        for before, after in pairwise(versions)
        if before.values.get(name) != after.values.get(name)
    ]
    known, nested = _default_of(process, name)
    if changes:
        origin = "changed"
    elif known is None:
        origin = "worked out"
    else:
        origin = "default" if _same(nested, value) else "set"
    return {
        "name": name,
        "value": value,
        "origin": origin,
        "default": None if known is None else nested,
        "meaning": "" if known is None else known["meaning"],
        "flag": None if known is None else known["flag"],
        "changes": changes,
    }


def _default_of(process: str, name: str) -> tuple[Json | None, Any]:
    """Return what is known of a setting, and the default of this value within it."""
    group = "agents" if process.startswith(AGENT) else process
    group = "collector" if process == "untouched" else group
    parts = name.split(".") if process == "stack" else [group, *name.split(".")]
    known = defaults().get(".".join(parts[:2]))
    if known is None:
        return None, None
    value = known["default"]
    for part in parts[2:]:
        if not isinstance(value, Mapping) or part not in value:
            return None, None
        value = value[part]
    return known, value


def _same(default: Any, value: Any) -> bool:
    """Return whether a value is the default; an empty list stands for nothing given."""
    return default == value or (default in (None, [], "") and value in (None, [], ""))


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield values by dotted name; lists are values."""
    if isinstance(value, Mapping) and value:
        for key, one in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), one)
    else:
        yield name, value
