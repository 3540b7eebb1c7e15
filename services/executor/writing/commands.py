"""Runs a command of the operator's: a program with its arguments, never a shell.

It may be started twice, after a crash of the executor or an undo, so it has to be idempotent. It gets no input, an
environment of the system's PATH alone, and is killed when it takes too long.
"""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import DEVNULL, PIPE, STDOUT

from schemas.outcome import Operation, OperationResult
from schemas.reasons import Reason

MOST_OUTPUT = 300
"""Characters of its output that are kept, the last ones."""


async def run_command(operation: Operation, *, seconds: float, dry_run: bool) -> OperationResult:
    """Run the command of an operation and return how it ended; in shadow mode it is not started."""
    if dry_run:
        return OperationResult(status="applied", message="not started: shadow mode")
    arguments: list[str] = json.loads(operation.patch)
    environment = {"PATH": os.defpath}
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=environment
        )
    except OSError as error:
        return _failed(f"{arguments[0]} does not start: {error.strerror or error}")
    try:
        output, _ = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        process.kill()
        await process.wait()
        return _failed(f"{arguments[0]} took longer than {seconds:g} s and was ended")
    text = output.decode(errors="replace").strip()[-MOST_OUTPUT:]
    if process.returncode != 0:
        ended = f"{arguments[0]} ended with {process.returncode}"
        return _failed(f"{ended}: {text}"[:MOST_OUTPUT] if text else ended)
    return OperationResult(status="applied", message=text)


def _failed(message: str) -> OperationResult:
    return OperationResult(status="failed", reason=Reason.COMMAND_FAILED, message=message)
