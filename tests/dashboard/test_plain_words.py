"""What the pages say to somebody who sees them for the first time, in a real Chromium."""

from __future__ import annotations

import pytest

from schemas.decision import RefereeRule
from tests.dashboard.test_file_view import url  # noqa: F401 - a fixture
from tests.dashboard.test_journeys import browser, page  # noqa: F401 - fixtures
from tests.dashboard.test_page import CHROMIUM

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
expect = playwright.expect
ADD_A_LINE = """body => {
    const line = document.createElement("p");
    line.style.flex = "none";
    body.insertBefore(line, body.lastElementChild);
    for (let height = 0; body.scrollHeight - body.clientHeight < 16; height += 1) line.style.height = `${height}px`;
}"""
"""So much that half of the panel's last line is out of sight."""
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH"),
]


def test_the_help_explains_every_rule_of_the_referee(page: playwright.Page) -> None:  # noqa: F811
    """Each rule that a decision can name has a sentence, and the rule itself shows it."""
    rule = page.get_by_test_id("rule").first
    said = (rule.get_attribute("title") or "").partition("settled it. ")[2]
    assert said
    page.goto("/help")
    words = page.get_by_test_id("words")
    for one in RefereeRule:
        expect(words.locator("dt", has_text=one.value)).to_have_count(1)
    expect(words).to_contain_text(f"Rule of the referee. {said}")
    expect(words).to_contain_text("Brier score")


def test_the_key_of_the_filter_searches_where_there_is_none(page: playwright.Page) -> None:  # noqa: F811
    """On the overview it would do nothing."""
    page.keyboard.press("/")

    expect(page.get_by_role("dialog")).to_be_visible()


def test_shares_of_a_node_are_percentages(page: playwright.Page) -> None:  # noqa: F811
    """As in the facts above them."""
    page.goto("/nodes")
    charts = page.get_by_test_id("node").locator("figcaption")

    for title in ("CPU", "Memory"):
        expect(charts.filter(has_text=title)).to_contain_text(r" %, requested ")


@pytest.mark.parametrize("address", ["/compare", "/settings?process=stack&all=1"])
def test_commands_are_set_as_commands(page: playwright.Page, address: str) -> None:  # noqa: F811
    """No backtick is left of how a sentence was written."""
    page.goto(address)
    main = page.locator("main")
    expect(main.locator(".panel code").first).to_be_visible()

    assert "`" not in main.inner_text()


def test_a_decision_that_is_being_read_is_not_said_to_be_missing(page: playwright.Page) -> None:  # noqa: F811
    """The address names it; until it has come, the panel says that it is being read."""
    page.route("**/api/cycles/5*", lambda _route: None)
    for address in ("/?cycle=5", "/decisions?cycle=5"):
        page.goto(address)
        expect(page.get_by_test_id("decision")).to_contain_text("Reading cycle 5")
    page.unroute_all(behavior="ignoreErrors")


def test_the_moment_says_its_day(page: playwright.Page) -> None:  # noqa: F811
    """Of a log of some days."""
    expect(page.get_by_test_id("moment")).to_contain_text("2026-")


def test_the_overview_names_the_riskiest_node_and_each_target(page: playwright.Page) -> None:  # noqa: F811
    """Within the room that there is: no name is shortened to one that others have, too."""
    nodes, recent = page.get_by_test_id("nodes-panel"), page.get_by_test_id("recent-13")
    expect(nodes.locator(".legend")).to_contain_text("highest risk ")
    target = recent.locator("td.wide")

    assert "openb-node-0002" in target.inner_text()
    assert target.get_attribute("title") == "throttle openb-node-0002"


def test_what_became_and_by_what_are_two_words(page: playwright.Page) -> None:  # noqa: F811
    """A decision that a guard rail refused."""
    page.goto("/decisions")
    became = page.get_by_test_id("row-4").locator("td").nth(5)

    expect(became).to_have_text("refused by budget")


def test_a_panel_says_that_its_last_line_is_out_of_sight(page: playwright.Page) -> None:  # noqa: F811
    """One line of text is 18 px high; half of it at the panel's edge is cut off like any other."""
    panel = page.get_by_test_id("rewards")
    expect(panel.locator("button.more")).to_have_count(0)
    panel.locator(".body").evaluate(ADD_A_LINE)

    expect(panel.locator("button.more")).to_be_visible()
