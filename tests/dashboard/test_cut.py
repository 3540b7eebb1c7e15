"""A cut of a recording: one file that shows its cycles without a server and without a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from foresail.__main__ import main
from tests.dashboard.test_file_view import RECORDING
from tests.dashboard.test_page import CHROMIUM, FLAGS, PATIENCE_MILLISECONDS

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
expect = playwright.expect


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Export cycles 4 to 9 of a recorded run."""
    file = tmp_path_factory.mktemp("cut") / "cut.html"
    assert main(["dashboard", str(RECORDING), "--export", str(file), "--cycles", "4-9"]) == 0
    return file


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH")
def test_it_is_walked_without_a_network(page_file: Path) -> None:
    """Moments, pages, a decision with its chain down to an event; nothing is asked of anybody."""
    asked: list[str] = []
    problems: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(offline=True)
        context.set_default_timeout(PATIENCE_MILLISECONDS)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda line: problems.append(line.text))
        page.goto(page_file.as_uri())
        moment = page.get_by_test_id("moment")
        expect(moment).to_contain_text("cycle 9")
        page.keyboard.press("[")
        expect(moment).to_contain_text("cycle 8")
        page.keyboard.press("g")
        page.keyboard.press("d")
        row = page.get_by_test_id("row-9").or_(page.locator("tr[data-chosen=true]")).first
        row.click()
        page.get_by_test_id("chain").get_by_role("link", name="observation", exact=True).click()
        expect(page.get_by_test_id("event-data")).to_contain_text('"cycle"')
        page.reload()
        expect(page.get_by_test_id("event-data")).to_contain_text('"cycle"')
        expect(moment).to_contain_text("cycle 8")
        page.keyboard.press("l")
        expect(moment).to_contain_text("cycle 9")
        browser.close()

    assert set(asked) == {page_file.as_uri()}
    assert problems == []


@pytest.mark.parametrize(
    ("cycles", "remedy"),
    [
        ("x", "write FIRST-LAST"),
        ("5-2", "the recording holds cycles 1 to "),
        ("900", "the recording holds cycles 1 to "),
    ],
)
def test_cycles_that_are_not_there_are_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    cycles: str,
    remedy: str,
) -> None:
    """One line, exit code 2, and no file."""
    file = tmp_path / "cut.html"
    code = main(["dashboard", str(RECORDING), "--export", str(file), "--cycles", cycles])

    assert code == 2
    assert f"--cycles = {cycles}: {remedy}" in capsys.readouterr().err
    assert not file.exists()
