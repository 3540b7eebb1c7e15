"""`python -m foresail.log_copy FILE UNTIL`: write a running log up to a position to a recording, and say what is in it.

For the page of a running stack, beside its server. It only reads: the log and who asks are named by the environment,
as those of every process of a stack. Of a long log it takes the newest part that `MOST_MESSAGES` and `MOST_BYTES`
allow, with what that part needs to be re-run.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from bus.errors import ForesailError
from bus.exit_codes import ExitCode
from bus.login import Login
from bus.nats_adapter import NatsBus
from bus.port import Bus, LogInfo
from bus.recording.writer import writing_recording
from foresail.recording.log_part import beginning_for, header_of, patterns_of
from inputs.parent_process import PARENT_VARIABLE, die_with_parent
from schemas.identity import Origin

MOST_MESSAGES = 60_000
MOST_BYTES = 256 * 1024**2
"""Bytes of messages, as the log counts them."""


async def copy_log(
    bus: Bus, origin: Origin, path: Path, until_seq: int, most_messages: int = MOST_MESSAGES
) -> dict[str, Any]:
    """Write the newest part of a log that ends at a position to a new file; return what is in it.

    Raises:
        InputError: the file cannot be made.
        BusUnavailable: the log cannot be read.
        OSError: there is no room for it.
    """
    info = await bus.info()
    patterns = patterns_of(origin.cluster, None)
    until_seq = min(until_seq, info.last_seq)
    from_seq = first_taken(info, until_seq, most_messages)
    part = await beginning_for(bus, origin.cluster, patterns, from_seq, info.first_seq)
    newest_ns = 0
    header = await header_of(bus, origin, None, part)
    with writing_recording(path, header) as writer:
        for head in part.heads:
            writer.write(head)
        stored = bus.history(patterns, start_seq=part.first_seq, end_seq=until_seq)
        async with aclosing(stored) as messages:
            async for message in messages:
                writer.write(message)
                newest_ns = message.time_ns
    return {
        "first_seq": part.first_seq,
        "last_seq": writer.last_seq,
        "last_ms": newest_ns // 1_000_000,
        "from_seq": part.from_seq,
        "whole": part.whole,
    }


def first_taken(
    info: LogInfo, until_seq: int, most_messages: int = MOST_MESSAGES, most_bytes: int = MOST_BYTES
) -> int:
    """Return from which position on a copy that ends at another one is taken."""
    average = max(1, info.bytes // max(1, info.messages))
    most = max(1, min(most_messages, most_bytes // average))
    return max(info.first_seq, until_seq - most + 1)


async def _copy(environment: Mapping[str, str], path: Path, until_seq: int) -> dict[str, Any]:
    origin = Origin(environment["FORESAIL_CLUSTER"], environment["FORESAIL_INCARNATION"])
    bus = await NatsBus.connect(
        environment["FORESAIL_NATS_URL"],
        cluster=origin.cluster,
        stream=environment["FORESAIL_STREAM"],
        name="dashboard copy",
        login=Login.from_environment(environment),
    )
    try:
        return await copy_log(bus, origin, path, until_seq)
    finally:
        await bus.close()


def main() -> int:
    """Copy, and print what was copied as JSON."""
    if parent := os.environ.get(PARENT_VARIABLE):
        die_with_parent(int(parent))
    try:
        copied = asyncio.run(_copy(os.environ, Path(sys.argv[1]), int(sys.argv[2])))
    except ForesailError as error:
        sys.stderr.write(f"{error}\n")
        return ExitCode.FAILED
    except OSError as error:
        sys.stderr.write(f"there is no room for a copy of the log ({error.strerror})\n")
        return ExitCode.FAILED
    print(json.dumps(copied))
    return ExitCode.GOOD


if __name__ == "__main__":
    sys.exit(main())
