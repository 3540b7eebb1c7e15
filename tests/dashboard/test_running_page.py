"""What if and Compare on the page of a running stack, in a real Chromium: asked, answered, and asked anew of more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bus.ports import free_port
from tests.dashboard.test_file_view import RECORDING
from tests.dashboard.test_page import CHROMIUM, FLAGS, PATIENCE_MILLISECONDS
from tests.dashboard.test_running_stack import CHANGE, CYCLES, UP, running, until

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
expect = playwright.expect
pytestmark = [
    pytest.mark.slow,
    pytest.mark.nats,
    pytest.mark.twin,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[playwright.Page]:
    """Open the page of a stack that runs, beside a recording."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    words = ("up", *UP, "--speed", "20", "--compare", str(RECORDING), "--nats-port", "0")
    folder: Path = tmp_path_factory.mktemp("stack")
    with (
        running(folder, (*words, "--dashboard-port", str(port))),
        playwright.sync_playwright() as driver,
    ):
        until(
            lambda: (
                (httpx.get(f"{url}/api/state").json()["sections"]["head"]["cycle"] or 0) >= CYCLES
            )
        )
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        opened = browser.new_page(base_url=url)
        opened.set_default_timeout(PATIENCE_MILLISECONDS)
        expect.set_options(timeout=PATIENCE_MILLISECONDS)
        yield opened
        browser.close()


def answered(page: playwright.Page, address: str, button: str) -> Any:
    """Press a button; return what the server answers to it once the page says how far it read."""
    with page.expect_response(lambda response: address in response.url) as got:
        page.get_by_role("button", name=button).click()
    answer = got.value.json()
    last = answer["log"]["copied"]["last_seq"]
    expect(page.get_by_test_id("so-far")).to_contain_text(f"to {last:,}")
    return answer


def test_a_setting_is_tried_on_what_a_stack_has_seen_so_far(page: playwright.Page) -> None:
    """Each decision that differs is a row, and a minute later the same question is about more of them."""
    page.goto("/what-if")
    name, value = CHANGE.split("=")
    page.get_by_label("Setting", exact=True).fill(name)
    page.get_by_label("New value").fill(value)
    before = answered(page, "/api/what-if", "Compute")
    assert before["differing"]
    expect(page.get_by_test_id(re.compile("^differs-"))).to_have_count(len(before["differing"]))
    rows = page.get_by_test_id("figures").locator("tbody tr")
    assert [row.split("\t")[0] for row in rows.all_inner_texts()] == [
        one["name"] for one in before["figures"]
    ]
    after = answered(page, "/api/what-if", "Anew, up to now")
    assert after["log"]["copied"]["last_seq"] > before["log"]["copied"]["last_seq"]
    assert sum(after["decisions"].values()) > sum(before["decisions"].values())


def test_a_stack_stands_beside_a_recording(page: playwright.Page) -> None:
    """Both clusters are shown, and asked anew the stack's has gone on."""
    page.goto("/compare")
    page.get_by_test_id("so-far").wait_for()
    first = answered(page, "/api/compare", "Anew, up to now")
    later = answered(page, "/api/compare", "Anew, up to now")
    assert later["log"]["copied"]["last_seq"] > first["log"]["copied"]["last_seq"]
    for side in first["clusters"]["sides"]:
        expect(page.locator("main")).to_contain_text(side["name"])
