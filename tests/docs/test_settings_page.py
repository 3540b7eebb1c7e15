"""Every setting is explained in docs/settings.md."""

from __future__ import annotations

from foresail.settings import GROUPS
from schemas.docstrings import field_docstrings


def test_every_setting_has_its_sentence() -> None:
    """No setting is without a sentence that says what it means."""
    bare = [
        f"{group}.{name}"
        for group, kind in GROUPS.items()
        for name in kind.model_fields
        if not field_docstrings(kind).get(name, "").strip()
    ]

    assert [] == bare
