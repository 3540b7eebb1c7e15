"""docs/identities.md is what its generator writes."""

from __future__ import annotations

import runpy

from tests.architecture.source_tree import ROOT


def test_the_identities_page_says_what_the_code_says() -> None:
    """The page is up to date; `python -m docs.make_identities` writes it anew."""
    made = runpy.run_path(str(ROOT / "docs" / "make_identities.py"), run_name="make_identities")

    assert made["page"]() == (ROOT / "docs" / "identities.md").read_text(encoding="utf-8")
