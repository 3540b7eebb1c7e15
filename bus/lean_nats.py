"""Imports nats-py without aiohttp, which it would load for websocket connections alone.

We speak NATS over TCP and TLS. aiohttp is a third of the time that a process takes to start and some
8 MB of its memory, in each of a dozen processes. It stays importable for everybody else. Every file
that imports `nats` imports this one first.
"""

from __future__ import annotations

import sys

if "aiohttp" not in sys.modules:
    sys.modules["aiohttp"] = None  # type: ignore[assignment]  # the documented way to refuse an import
    try:
        import nats.aio.transport  # noqa: F401
    finally:
        del sys.modules["aiohttp"]
