"""`--no-wait`: a runner of its own, which goes on after this command has ended."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bus.clock import SystemClock
from bus.errors import Permanent

FLAG = "--no-wait"
LOG = "runner.log"
BEGIN_SECONDS = 60.0


async def start_detached(words: Sequence[str], folder: Path) -> int:
    """Start the command `words` of `foresail` again without the flag; return its process id once it has the session.

    Raises:
        Permanent: it ended before; the text is its last line.
    """
    own = [word for word in words if word != FLAG]
    log = folder / LOG
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: ASYNC220 - returns at once, and nobody reads from it
            [sys.executable, "-m", "foresail", *own],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    clock = SystemClock()
    deadline = clock.monotonic() + BEGIN_SECONDS
    while clock.monotonic() < deadline:
        if (folder / "server.json").exists() or process.poll() == 0:
            break
        if process.poll() is not None:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise Permanent(lines[-1] if lines else "the runner ended at once")
        await clock.sleep(0.05)
    return process.pid
