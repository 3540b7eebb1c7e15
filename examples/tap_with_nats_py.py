"""Tap a running stack with plain nats-py: `python examples/tap_with_nats_py.py nats://127.0.0.1:PORT`.

`foresail status` prints the address of the log. A second argument narrows the subject, for example
`live.foresail.*.decision`. Nothing of Foresail is imported: events are CloudEvents in binary mode,
attributes in `ce-*` headers and data as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from urllib.parse import unquote

import nats
from nats.aio.msg import Msg


def line(message: Msg) -> str:
    """Return one event as one line: time, subject, type, cycle, and the beginning of its data."""
    headers = {name.lower(): unquote(text) for name, text in (message.headers or {}).items()}
    data = json.loads(message.data)
    return (
        f"{headers['ce-time'][11:19]}  {message.subject.removeprefix('live.')}  "
        f"{headers['ce-type']}  {headers['ce-correlationid']}  {json.dumps(data)[:100]}"
    )


async def tap(url: str, subject: str) -> None:
    """Print every stored event on the subject until interrupted."""
    client = await nats.connect(url)
    try:
        subscription = await client.subscribe(subject)
        async for message in subscription.messages:
            sys.stdout.write(f"{line(message)}\n")
            sys.stdout.flush()
    finally:
        await client.close()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("give the address of the log, as `foresail status` prints it")
    with suppress(KeyboardInterrupt, BrokenPipeError):
        asyncio.run(tap(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "live.foresail.>"))
