"""What `make run` plays: it acts, is refused nothing, and is worth more than the same world left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_first_two_minutes_show_what_acting_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten minutes of the shop, forty seconds of `make run`: replicas before long, a gain, no refusals."""
    monkeypatch.chdir(ROOT)
    settings = resolve(
        ROOT / "examples" / "first-run.toml",
        {},
        {"run.virtual_time": True, "run.for_seconds": 40.0},
    )
    summary = run_virtual_stack(settings, quiet=True)

    assert settings.agents.profile == "foresail"
    assert not [name for name in summary["executions"] if name.startswith("refused")]
    assert summary["executions"]["succeeded"] >= 3
    assert "(helps)" in summary["acting_changed_text"]
