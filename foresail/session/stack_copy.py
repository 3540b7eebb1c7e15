"""What a session's log says, told in the run that is written, and in the log of the stack of its state folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bus.errors import InputError
from foresail.log_source import connect
from foresail.run_log import note_event, written
from foresail.stack.state_folder import StateFolder
from lab.sessions.log_copy import LogCopy
from lab.sessions.session_log import SessionLog
from schemas.identity import Origin


@asynccontextmanager
async def copied(log: SessionLog, state: str) -> AsyncIterator[None]:
    """Copy what is stored meanwhile into the log of `--run` and a running stack's; what stood before is told first."""
    if written():
        await log.copy_into(note_event)
    folder = StateFolder(Path(state))
    try:
        stack = folder.read()
    except InputError:
        yield
        return
    if not stack.running:
        yield
        return
    async with connect(stack, folder, "operator") as bus:
        copy = LogCopy(bus, Origin(stack.cluster, stack.incarnation))
        try:
            await log.copy_into(copy.add)
            yield
        finally:
            await copy.close()
