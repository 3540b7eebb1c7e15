"""Each page of the dashboard has its row in the docs, and its pictures."""

from __future__ import annotations

import pytest

from docs.make_dashboard import DOCS, FOLDER, LOOKS
from services.dashboard.app import PAGES


@pytest.mark.parametrize("page", PAGES)
def test_each_page_is_described_and_shown(page: str) -> None:
    """In dark, light and narrow; `python -m docs.make_dashboard` makes them."""
    text = (DOCS / "dashboard.md").read_text(encoding="utf-8")
    for look in LOOKS:
        assert f"(pages/{page}-{look}.jpg)" in text
        assert (FOLDER / f"{page}-{look}.jpg").stat().st_size > 10_000


def test_no_picture_is_of_a_page_that_is_gone() -> None:
    """Nothing else lies there."""
    wanted = {f"{page}-{look}.jpg" for page in PAGES for look in LOOKS}
    assert {path.name for path in FOLDER.iterdir()} == wanted
