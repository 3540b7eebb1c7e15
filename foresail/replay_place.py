"""Where a replay is kept and how far it is: what `foresail replay` writes and `foresail status` reads."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from bus.port import Bus
from foresail.stack.state_folder import NoStack, StackFile, StateFolder
from projections.times import WALL
from schemas import subjects

FOLDER = "replay"
"""Below the stack's state folder; a second replay there waits for the first to end."""
RECORDED = "Foresail-Recorded"
"""Header with the position and the time that a replayed message had in its own log."""


async def replay_position(bus: Bus, stack: StackFile) -> dict[str, Any] | None:
    """Return how far the replay is whose log this is; None for a stack's own log."""
    if not stack.replay:
        return None
    info, recorded = await bus.info(), ""
    async with aclosing(
        bus.history([subjects.pattern(stack.cluster, (">",))], start_seq=info.last_seq)
    ) as messages:
        async for message in messages:
            recorded = message.headers.get(RECORDED, "")
    seq, _, time = recorded.partition(" ")
    text = (
        f"replay of {stack.replay['file']}: seq {seq or 0} of {stack.replay['last_seq']}, "
        f"recorded {time[:19].replace('T', ' ') or '-'} UTC {WALL}, {stack.replay['state']}"
    )
    return {**stack.replay, "seq": int(seq or 0), "recorded_time": time, "text": text}


def replay_beside(state: StateFolder) -> dict[str, Any] | None:
    """Return the replay that runs beside a stack, if one does."""
    folder = state.path / FOLDER
    try:
        stack = StateFolder(folder).read()
    except NoStack:
        return None
    if not stack.running:
        return None
    text = (
        f"a replay of {stack.replay.get('file', 'a recording')} runs beside it as {stack.cluster} "
        f"({stack.dashboard_url}); `foresail status --state {folder}` says how far it is"
    )
    return {**stack.replay, "cluster": stack.cluster, "state_folder": str(folder), "text": text}
