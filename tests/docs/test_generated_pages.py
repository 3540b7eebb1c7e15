"""Pages that a generator writes whole are up to date."""

from __future__ import annotations

import runpy

import pytest

from tests.architecture.source_tree import ROOT

PAGES = {
    "make_evidence": "evidence.md",
    "make_exit_codes": "exit-codes.md",
    "make_features": "forecast/feature-columns.md",
    "make_identities": "identities.md",
    "make_settings": "settings.md",
}


@pytest.mark.parametrize("generator", PAGES)
def test_the_page_says_what_the_code_says(generator: str) -> None:
    """`python -m docs.GENERATOR` writes it anew."""
    made = runpy.run_path(str(ROOT / "docs" / f"{generator}.py"), run_name=generator)

    assert made["page"]() == (ROOT / "docs" / PAGES[generator]).read_text(encoding="utf-8")
