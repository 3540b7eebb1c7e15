"""A plain nats-py subscriber, without any code of ours, reads the log as CloudEvents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import nats
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin, pytest.mark.timeout(120)]


async def test_a_plain_subscriber_sees_readable_events(
    cli: Any, wait_until: Callable[..., Any]
) -> None:
    """On `live.foresail.>` every message has CloudEvents headers and JSON data, and all six layers pass by."""
    cli.start(
        "up", "--workload", "idle", "--nodes", "5", "--interval", "2s", "--dashboard-port", "0"
    )
    await asyncio.to_thread(wait_until, (cli.state / "stack.json").exists, 60, "the stack is up")
    client = await nats.connect(json.loads((cli.state / "stack.json").read_text())["nats_url"])
    seen: dict[str, Any] = {}

    async def take(message: Any) -> None:
        seen[message.headers["ce-type"]] = (
            message.subject,
            dict(message.headers),
            json.loads(message.data),
        )

    await client.subscribe("live.foresail.>", cb=take)
    layers = ("snapshot", "observation", "prediction", "proposal", "decision", "outcome")
    async with asyncio.timeout(60):
        while not all(any(f".{layer}." in kind for kind in seen) for layer in layers):
            await asyncio.sleep(0.2)
    await client.close()

    subject, headers, data = seen["foresail.decision.v1"]
    assert "live.foresail.twin.decision" == subject
    assert "1.0" == headers["ce-specversion"]
    assert headers["ce-source"].startswith("/foresail/twin/")
    assert headers["ce-correlationid"].endswith(f"/{data['cycle']}")
    assert data["rationale"]
