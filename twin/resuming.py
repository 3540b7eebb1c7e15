"""Starting a twin where it ended: the newest checkpoint, then the rest of the journal.

The journal alone is always enough, so a checkpoint that does not fit (another version, damage) is
named on stderr and passed over; it saves time, not truth.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from inputs.clock import Clock
from inputs.errors import ConfigError
from twin.api.journal import Journal, WorldKey
from twin.checkpoint import Checkpoint
from twin.engine import Engine

CHECKPOINT_SECONDS = 60.0
"""Wall seconds between two checkpoints at least."""
SHARE_OF_TIME = 0.01
"""Most of the twin's time that taking checkpoints may cost."""


def checkpoint_path(journal: Path) -> Path:
    """Return where the checkpoint of a journal is."""
    return journal.with_name(f"{journal.name}.checkpoint")


def resume(
    path: Path, world: WorldKey, began: float, build: Callable[[], Engine]
) -> tuple[Engine, Journal]:
    """Open or begin a journal and return the engine in the state at its end.

    `build` makes the engine of this world at its start, cluster time `began`. Raises ConfigError
    for a journal that does not fit.
    """
    journal = Journal(path, world)
    engine, checkpoint = _restore_checkpoint(checkpoint_path(path), world, build)
    if checkpoint is None:
        writes = journal.replay(engine)
    else:
        head = checkpoint.head
        writes = journal.replay(engine, after_bytes=head.journal_bytes, marked=head.marked)
        began = head.now
        sys.stderr.write(f"restored a checkpoint of cluster time {head.now:.3f}\n")
    if engine.now > began:
        sys.stderr.write(f"re-ran {engine.now - began:.0f} s of cluster time, {writes} writes\n")
    return engine, journal


def _restore_checkpoint(
    path: Path, world: WorldKey, build: Callable[[], Engine]
) -> tuple[Engine, Checkpoint | None]:
    if path.exists():
        try:
            engine, checkpoint = build(), Checkpoint.read(path, world.line())
            checkpoint.restore(engine, path)
            return engine, checkpoint
        except ConfigError as error:
            sys.stderr.write(f"{error}: the journal is re-run from its start\n")
    return build(), None


class Checkpoints:
    """Writes a checkpoint now and then; never more often than its cost allows."""

    def __init__(self, journal: Path, world: WorldKey, clock: Clock) -> None:
        """Write beside `journal`."""
        self._path = checkpoint_path(journal)
        self._world = world.line()
        self._clock = clock
        self._next_at = clock.monotonic() + CHECKPOINT_SECONDS

    async def keep(self, engine: Engine, journal: Journal) -> None:
        """Write one when its time has come.

        Raises:
            JournalUnwritable: what the checkpoint holds could not be kept in the journal.
        """
        began = self._clock.monotonic()
        if began < self._next_at:
            return
        journal.sync()
        checkpoint = Checkpoint.of(
            engine, self._world, journal_bytes=journal.size_bytes, marked=journal.marked
        )
        took = self._clock.monotonic() - began
        self._next_at = began + max(CHECKPOINT_SECONDS, took / SHARE_OF_TIME)
        try:
            await asyncio.to_thread(checkpoint.write, self._path)
        except OSError as error:
            sys.stderr.write(f"no checkpoint written: {error.strerror}\n")
