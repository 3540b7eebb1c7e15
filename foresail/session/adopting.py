"""A confirmed profile on a running stack: its decisions are dry runs at first, then they count.

Both steps are `config` events of the stack's own processes (`foresail.stack.adoption`): the first with the executor's
mode `shadow`, the second with the mode that the stack was started with.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from bus.clock import SystemClock
from bus.errors import InputError
from bus.events import event_of
from foresail.control import check_running
from foresail.log_source import LogSource, connect
from foresail.output import print_note
from foresail.session.profile_file import profile_text
from foresail.stack.adoption import FILE
from foresail.stack.state_folder import StateFolder
from inputs.limited_files import read_toml
from projections.figures import duration

TAKES_SECONDS = 120.0
"""In which the executor has to be back with other settings."""
LOOK_SECONDS = 0.5


async def adopt(folder: Path, profile: Path, shadow_seconds: float) -> bool:
    """Let the stack of a state folder shadow a profile, then use it; False: it decided nothing, and has its own back.

    Raises:
        InputError: no stack runs there, it does not take the settings, or the file cannot be read.
    """
    state = StateFolder(folder)
    stack = state.read()
    check_running(stack, str(folder))
    tables = read_toml(profile)
    async with connect(stack, state) as bus:
        log = LogSource(bus, stack.cluster, running=True, now_ns=SystemClock().wall_ns())
        own = await _mode(log)
        path = folder / FILE
        ask = _Asking(path, stack.pid, log)
        await ask.take({**tables, "executor": {**tables.get("executor", {}), "mode": "shadow"}})
        print_note(f"{profile} is shadowed for {duration(shadow_seconds)}; nothing is written")
        begun = await _decisions(log)
        await asyncio.sleep(shadow_seconds)
        decided = await _decisions(log) - begun
        if not decided:
            await ask.take({"executor": {"mode": own}})
            path.unlink()
            return False
        print_note(f"{decided} decisions in shadow; from now on they count")
        await ask.take({**tables, "executor": {**tables.get("executor", {}), "mode": own}})
        return True


class _Asking:
    """Asks a stack for settings, and waits until its executor has announced them."""

    def __init__(self, path: Path, pid: int, log: LogSource) -> None:
        self._path, self._pid, self._log = path, pid, log

    async def take(self, tables: Mapping[str, Any]) -> None:
        """Ask for settings; raises InputError where they are not taken in time."""
        unfinished = self._path.with_suffix(".part")
        unfinished.write_text(profile_text(tables), encoding="utf-8")
        unfinished.replace(self._path)
        os.kill(self._pid, signal.SIGHUP)
        clock = SystemClock()
        last = clock.monotonic() + TAKES_SECONDS
        while await _mode(self._log) != tables["executor"]["mode"]:
            if clock.monotonic() > last:
                raise InputError("--adopt", self._path, "the stack does not take it; see its log")
            await asyncio.sleep(LOOK_SECONDS)


async def _mode(log: LogSource) -> str:
    message = await log.newest("config.executor")
    return "" if message is None else str(event_of(message).data.settings.get("mode", ""))


async def _decisions(log: LogSource) -> int:
    count = 0
    async with aclosing(log.messages(("decision",))) as messages:
        async for _ in messages:
            count += 1
    return count
