"""Asks a process on its health port for a sign of life; that needs no nats-server, so an outage of the
log freezes nobody.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any

from bus.failure_detector import LivenessReport
from bus.health import LOOPBACK

ANSWER_BYTES = 16_384
ANSWER_SECONDS = 0.8
"""Shorter than the supervisor's patience with one question, so that silence is told from a closed port."""
SILENT = LivenessReport(math.inf, ready=False)
"""A process that has opened its port and does not answer on it: SIGSTOP before it was ever heard."""


async def ask_health(port: int, pid: int) -> LivenessReport | None:
    """Ask a process of ours on its health port; None when another process answers there.

    Raises:
        OSError: the port is closed, as while a process starts.
    """
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    try:
        writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
        answer = b""
        async with asyncio.timeout(ANSWER_SECONDS):
            while len(answer) < ANSWER_BYTES and (part := await reader.read(ANSWER_BYTES)):
                answer += part
    except TimeoutError:
        return SILENT
    finally:
        writer.close()
    return read_health(answer.partition(b"\r\n\r\n")[2], pid)


def read_health(body: bytes, pid: int) -> LivenessReport | None:
    """Read what `/healthz` answers; None for what process `pid` would not say."""
    try:
        answer: Mapping[str, Any] = json.loads(body)
        if answer["pid"] != pid:
            return None
        return LivenessReport(float(answer["loop_age_seconds"]), answer["ready"] is True)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
