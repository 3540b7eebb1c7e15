"""An open page while the dashboard or NATS is killed and comes back; two tabs; a browser whose clock is wrong."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.port import Bus
from bus.ports import free_port
from bus.streams import StreamDeclaration
from schemas.envelope import Event
from tests.builders import ORIGIN
from tests.dashboard.built_cycles import cycles
from tests.dashboard.test_page import CHROMIUM, FLAGS, PATIENCE_MILLISECONDS
from tests.dashboard.test_process import environment_of, start_process, store

playwright = pytest.importorskip("playwright.async_api", reason="needs playwright")
EVENTS_PER_CYCLE = 15
CYCLE = re.compile(r"cycle (\d+)")
FOLLOWS = re.compile("live|stale")
"""Connected and at the newest event, however long ago that was."""
WRONG_CLOCK = """{
  const right = Date.now.bind(Date);
  Date.now = () => right() + 3 * 3600 * 1000;
}"""
pytestmark = [
    pytest.mark.browser,
    pytest.mark.nats,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH"),
]


@dataclass
class Scene:
    """A NATS server with a log, the dashboard as a process on it, and a browser."""

    server: NatsServer
    bus: Bus
    environment: dict[str, str]
    browser: Any
    port: int = field(default_factory=free_port)
    _events: list[Event[Any]] = field(default_factory=lambda: cycles(8))

    async def decide(self, count: int) -> None:
        """Store so many cycles more."""
        size = count * EVENTS_PER_CYCLE
        first, self._events = self._events[:size], self._events[size:]
        await store(self.bus, first)

    @asynccontextmanager
    async def dashboard(self) -> AsyncIterator[Any]:
        """Run the dashboard."""
        async with start_process(self.environment, port=self.port, update_seconds=0.05) as process:
            await until_it_listens(self.port)
            yield process

    async def tab(self, path: str = "/", script: str = "") -> Any:
        """Open the page in a tab of its own."""
        page = await self.browser.new_page()
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        if script:
            await page.add_init_script(script)
        await page.goto(f"http://127.0.0.1:{self.port}{path}")
        await page.get_by_test_id("moment").wait_for()
        return page


async def until_it_listens(port: int) -> None:
    """Wait until somebody answers."""
    for _ in itertools.count():
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
            continue
        writer.close()
        return


async def shows(page: Any, cycle: int) -> None:
    """Wait until a page shows a cycle."""
    expected = playwright.expect(page.get_by_test_id("moment"))
    await expected.to_contain_text(f"cycle {cycle},", timeout=PATIENCE_MILLISECONDS)


async def is_state(page: Any, state: str | re.Pattern[str]) -> None:
    """Wait until a page says that it is live, late, in the past or without a connection."""
    expected = playwright.expect(page.get_by_test_id("live"))
    await expected.to_have_attribute("data-state", state, timeout=PATIENCE_MILLISECONDS)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """Start a server with two cycles in its log."""
    async with AsyncExitStack() as cleanup:
        server = NatsServer(tmp_path / "nats")
        url = await server.start()
        cleanup.push_async_callback(server.stop)
        declaration = StreamDeclaration.of(ORIGIN.cluster, ORIGIN.incarnation)
        await NatsBus.declare(url, declaration)
        bus = await NatsBus.connect(url, cluster=ORIGIN.cluster, stream=declaration.name)
        cleanup.push_async_callback(bus.close)
        driver = await cleanup.enter_async_context(playwright.async_playwright())
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        cleanup.push_async_callback(browser.close)
        made = Scene(server, bus, environment_of(url, declaration.name), browser)
        await made.decide(2)
        yield made


async def test_a_page_outlives_the_dashboard(scene: Scene) -> None:
    """It says that the connection is lost, and is up to date once a new process is there, without a reload."""
    async with scene.dashboard() as first:
        page = await scene.tab()
        await shows(page, 2)
        await page.evaluate("window.same = true")
        first.kill()
        await is_state(page, "offline")
    await scene.decide(2)
    async with scene.dashboard():
        await shows(page, 4)
        await scene.decide(1)
        await shows(page, 5)
        assert await page.evaluate("window.same")


async def test_a_page_outlives_nats(scene: Scene) -> None:
    """Killed and started again on its store: what is stored from then on is shown, by the same process."""
    async with scene.dashboard() as process:
        page = await scene.tab()
        await shows(page, 2)
        scene.server.kill()
        await scene.server.wait()
        await scene.server.restart()
        await scene.decide(1)
        await shows(page, 3)
        await is_state(page, FOLLOWS)
        assert process.returncode is None


async def test_two_tabs_are_at_their_own_moments(scene: Scene) -> None:
    """One stays in the past, the other goes on."""
    async with scene.dashboard():
        live = await scene.tab()
        past = await scene.tab("/decisions")
        await shows(past, 2)
        await past.keyboard.press("[")
        await shows(past, 1)
        await scene.decide(2)
        await shows(live, 4)
        await is_state(live, FOLLOWS)
        await shows(past, 1)
        await is_state(past, "past")


async def test_ages_are_those_of_the_server(scene: Scene) -> None:
    """A browser whose clock is three hours ahead calls nothing three hours old."""
    async with scene.dashboard():
        page = await scene.tab(script=WRONG_CLOCK)
        await shows(page, 2)
        await scene.decide(1)
        await shows(page, 3)
        text = await page.get_by_test_id("newest-age").inner_text()

    assert re.fullmatch(r"[\d.]+ (ms|s) ago", text), text
