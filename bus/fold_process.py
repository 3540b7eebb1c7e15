"""Running one fold over a bus: what every pure service's process does, and the virtual-time stack
with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from bus.clock import Clock
from bus.follow import Fold, Follower, Speaker
from bus.port import Bus
from schemas.config import Config, config_hash
from schemas.identity import Origin
from schemas.model import Part

S = TypeVar("S", bound=Part)


def config_of(
    process: str, settings: dict[str, Any], code_version: str, model_ids: Sequence[str] = ()
) -> Config:
    """Return the config event's data of a process."""
    ids = tuple(model_ids)
    return Config(
        process=process,
        settings=settings,
        config_hash=config_hash(settings, code_version, ids),
        code_version=code_version,
        model_ids=ids,
    )


async def run_fold(
    fold: Fold[S],
    bus: Bus,
    clock: Clock,
    origin: Origin,
    config: Config,
    *,
    on_progress: Callable[[str, int], None] | None = None,
) -> None:
    """Announce the settings, then follow the log until cancelled."""
    speaker = Speaker(bus, origin, fold.name)
    await speaker.announce(config, clock.wall_ns() / 1e9)
    await Follower(fold, bus, clock, speaker, on_progress=on_progress).run()
