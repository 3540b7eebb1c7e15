"""Other settings for the processes of a running stack that decide and act.

Whoever wants them writes a TOML file beside the state folder's lock and sends the stack SIGHUP. The processes whose
settings differ are started again with them, and each publishes its own `config` event before it says anything else, so
that the log tells which settings every decision was made with. The stack itself goes on; started anew, it has its own
settings again.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bus.errors import InputError
from foresail.output import print_error
from foresail.settings import StackSettings
from foresail.stack.supervised_processes import ServiceProcess
from inputs.limited_files import BadFile, read_toml
from schemas.agents import agent_names

FILE = "adopted.toml"
GROUPS = ("inference", "agents", "referee", "executor")
"""Groups of settings that can change while a stack runs; the others say what it is."""


def adopted_settings(settings: StackSettings, tables: Mapping[str, Any]) -> StackSettings:
    """Return settings with those of a profile instead, table by table; what it does not name stays.

    Raises:
        InputError: a group that cannot change while the stack runs, or a value that does not fit.
    """
    other = next((name for name in tables if name not in GROUPS), None)
    if other is not None:
        raise InputError(other, tables[other], f"a running stack takes {', '.join(GROUPS)} alone")
    changed = {}
    for name, table in tables.items():
        group = getattr(settings, name)
        try:
            changed[name] = type(group).model_validate(_merged(group.model_dump(), table))
        except ValueError as error:
            raise InputError(name, table, " ".join(str(error).split())[:300]) from error
    return settings.model_copy(update=changed)


class Adoption:
    """Takes other settings for a stack's services as long as it runs."""

    def __init__(
        self, settings: StackSettings, folder: Path, services: Sequence[ServiceProcess]
    ) -> None:
        """`settings` are those in force, and back when `folder` holds no file."""
        self._settings = settings
        self._path = folder / FILE
        self._services = services

    async def wait(self) -> None:
        """Take the file's settings at each SIGHUP; never returns."""
        asked = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, asked.set)
        while await asked.wait():
            asked.clear()
            await self._take()

    async def _take(self) -> None:
        """Start the processes again whose settings differ; say so where the file cannot be used."""
        try:
            tables = read_toml(self._path) if self._path.exists() else {}
            wanted = adopted_settings(self._settings, tables)
        except (OSError, BadFile, InputError) as error:
            print_error(f"{self._path} is not taken: {error}")
            return
        groups = {"inference": wanted.inference, "referee": wanted.referee}
        groups |= {"executor": wanted.executor}
        groups |= {f"agent-{name}": wanted.agents for name in agent_names()}
        renewed = []
        for service in self._services:
            group = groups.get(service.name)
            if group is not None:
                text = json.dumps(group.model_dump(mode="json"))
                if service.renew({"FORESAIL_SETTINGS": text}):
                    renewed.append(service.stop())  # the supervisor starts it again
        await asyncio.gather(*renewed)


def _merged(own: Mapping[str, Any], given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError("write it as a table")
    merged = dict(own)
    for name, value in given.items():
        inner = merged.get(name)
        merged[name] = (
            _merged(inner, value)
            if isinstance(inner, Mapping) and isinstance(value, Mapping)
            else value
        )
    return merged
