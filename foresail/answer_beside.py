"""What a command says as JSON, computed in a process beside a server, so that its other answers do not wait."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bus.errors import InputError
from inputs.parent_process import PARENT_VARIABLE

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
    remedy = f"use `foresail {words[0]}`"
    return await module_beside("foresail", (*words, "--json"), field, value, remedy=remedy)


async def module_beside(
    module: str,
    words: Sequence[str],
    field: str,
    value: str,
    *,
    remedy: str,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the JSON document that `python -m MODULE WORDS` prints; see `answer_beside`.

    Args:
        module: what is run.
        words: its arguments.
        field: what was asked for, as an error names it.
        value: its value, likewise.
        remedy: what to do where it takes too long.
        environment: of the process; None: that of this one.
    """
    own = {PARENT_VARIABLE: str(os.getpid())}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=None if environment is None else {**environment, **own},
    )
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            said, complained = await process.communicate()
    except TimeoutError as error:
        raise InputError(field, value, f"it takes too long here: {remedy}") from error
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
