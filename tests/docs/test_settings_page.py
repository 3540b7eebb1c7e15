"""docs/settings.md is what its generator writes."""

from __future__ import annotations

import runpy

from foresail.settings import GROUPS
from schemas.docstrings import field_docstrings
from tests.architecture.source_tree import ROOT


def test_the_settings_page_says_what_the_code_says() -> None:
    """The page is up to date; `python -m docs.make_settings` writes it anew."""
    made = runpy.run_path(str(ROOT / "docs" / "make_settings.py"), run_name="make_settings")

    assert made["page"]() == (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def test_every_setting_has_its_sentence() -> None:
    """No setting is without a sentence that says what it means."""
    bare = [
        f"{group}.{name}"
        for group, kind in GROUPS.items()
        for name in kind.model_fields
        if not field_docstrings(kind).get(name, "").strip()
    ]

    assert [] == bare
