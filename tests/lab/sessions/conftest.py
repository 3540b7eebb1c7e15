"""The engines that every promise of the port is tried on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lab.sessions.engines.local import LocalEngine
from lab.sessions.engines.port import Engine
from tests.lab.sessions.harness import Harness

KINDS = [pytest.param("local", id="local")]


@pytest.fixture(params=KINDS)
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Harness:
    """Run sessions on each engine in turn."""
    return Harness(request.param, tmp_path, open_local)


@asynccontextmanager
async def open_local(session: str, folder: Path) -> AsyncIterator[Engine]:
    """Open a local engine and close it."""
    del session
    engine = LocalEngine(folder)
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()
