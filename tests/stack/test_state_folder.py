"""Who holds a state folder, as others see it."""

from __future__ import annotations

import fcntl
from pathlib import Path

from foresail.stack.state_folder import StateFolder


def test_who_looks_is_not_taken_for_a_stack(tmp_path: Path) -> None:
    """A folder that a stack has left is free, also while somebody else looks at it; one that is held is not."""
    holder, looker = StateFolder(tmp_path), StateFolder(tmp_path)
    assert not looker.is_locked()
    holder.lock()
    assert looker.is_locked()
    holder.unlock()

    with (tmp_path / "lock").open("rb+") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert not looker.is_locked()
