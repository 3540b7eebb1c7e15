"""The pages Runs and Compare with something to show, in a real Chromium: read by everybody, on a narrow screen, too."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from docs.make_dashboard import served
from foresail.progress import doing_shares
from foresail.run_log import note_event, note_trial, run_log_of
from schemas.envelope import NewEvent
from tests.dashboard.test_file_view import RECORDING
from tests.dashboard.test_journeys import AXE
from tests.dashboard.test_page import CHROMIUM, FLAGS, PATIENCE_MILLISECONDS
from tests.dashboard.test_runs import study
from tests.fuzz.made_runs import OF_RUN, OF_SESSION

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
expect = playwright.expect
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH"),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tell a run with everything that a run can tell."""
    path = tmp_path_factory.mktemp("runs") / "run.fslog"
    parsed = argparse.Namespace(verb="experiment", action="run", run_log=path, seed=7)
    with run_log_of(parsed, ["experiment", "run", "e.toml"]), doing_shares("playing") as advance:
        advance("half", 0.5)
        note_trial("e", 1, 2.0, {"arm": "ours", "seed": 1})
        history = ((0, "complete", 5.0), (1, "failed", None), (2, "complete", 4.0))
        for data in (*OF_RUN, *OF_SESSION, study(*history)):
            note_event(NewEvent(data, 0, 0.0))
    return path


@contextmanager
def opened(url: str) -> Iterator[playwright.Page]:
    """Open a page; nothing may be told on its console."""
    problems: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        context.set_default_timeout(PATIENCE_MILLISECONDS)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console", lambda line: problems.append(line.text) if line.type == "error" else None
        )
        page.goto(url)
        yield page
        browser.close()
    assert problems == []


def serious(page: playwright.Page) -> list[str]:
    """Return what axe-core finds serious, in the light and in the dark."""
    found = []
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        violations = page.evaluate("axe.run().then(result => result.violations)")
        found += [
            f"{scheme} {one['id']} {one['nodes'][0]['html'][:120]}"
            for one in violations
            if one["impact"] in {"serious", "critical"}
        ]
    return found


def narrow(page: playwright.Page) -> int:
    """Return how wide the page is on a screen of 320 px."""
    page.set_viewport_size({"width": 320, "height": 800})
    width: int = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size({"width": 1440, "height": 900})
    return width


def test_each_kind_of_run_is_told(told: Path) -> None:
    """Walked by keys: the run, a search with its staircase, a session, an experiment, a policy."""
    shown = {
        "stages": "playing",
        "new-bests": "trial 2",
        "job-states": "1 failed",
        "effects": "ours",
        "curves": "5,000",
    }
    with served(str(told)) as url, opened(f"{url}/runs?what=run") as page:
        rows = page.get_by_test_id("runs-list").locator("tr[data-chosen]")
        rows.first.wait_for()
        found, widths = [], []
        for place in range(rows.count()):
            rows.nth(place).click()
            expect(rows.nth(place)).to_have_attribute("data-chosen", "true")
            for name, text in list(shown.items()):
                if page.get_by_test_id(name).count():
                    expect(page.get_by_test_id(name).first).to_contain_text(text)
                    del shown[name]
            found += [] if not AXE.is_file() else serious(page)
            widths.append(narrow(page))

    assert shown == {}
    assert found == []
    assert set(widths) == {320}


def test_two_recordings_stand_beside_each_other_at_any_moment() -> None:
    """Both cards, the lanes and the goals; at another cycle the cards say that one's time."""
    with (
        served(str(RECORDING), "--compare", str(RECORDING)) as url,
        opened(f"{url}/compare") as page,
    ):
        first = page.get_by_test_id("first")
        first.wait_for()
        newest = first.inner_text()
        expect(page.get_by_test_id("second")).to_contain_text("simulated")
        expect(page.get_by_test_id("goals")).to_contain_text("safety")
        expect(page.get_by_test_id("boundary")).to_contain_text("one pair")
        for _ in range(6):
            page.keyboard.press("[")
        expect(page.get_by_test_id("live")).to_have_attribute("data-state", "past")
        expect(first).not_to_have_text(newest)
        found = [] if not AXE.is_file() else serious(page)
        width = narrow(page)

    assert found == []
    assert width == 320
