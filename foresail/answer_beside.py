"""What a verb says as JSON, computed in a process beside a server, so that its other answers do not wait."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from bus.errors import InputError

LIMIT_SECONDS = 900.0


async def answer_beside(words: Sequence[str], field: str, value: str) -> dict[str, Any]:
    """Return what `foresail WORDS --json` says.

    Args:
        words: the verb and its arguments.
        field: what was asked for, as an error names it.
        value: its value, likewise.

    Raises:
        InputError: it could not be computed, or took longer than `LIMIT_SECONDS`.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "foresail", *words, "--json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            said, complained = await process.communicate()
    except TimeoutError as error:
        raise InputError(
            field, value, f"it takes too long here: use `foresail {words[0]}`"
        ) from error
    except asyncio.CancelledError as error:
        # The server ends: whoever asked gets a line, and its log no traceback.
        raise InputError(field, value, "the server ended meanwhile") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        answer: dict[str, Any] = json.loads(said)
    except ValueError as error:
        lines = complained.decode(errors="replace").strip().splitlines() or ["no answer"]
        raise InputError(field, value, lines[-1]) from error
    return answer
