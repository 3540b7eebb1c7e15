"""Running one handler over a bus: the main loop of every pure service, in its own process and in the
virtual-time stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from bus.clock import Clock
from bus.follow import Follower, Handler, Publisher
from bus.item_errors import ItemErrors
from bus.port import Bus
from schemas.config import Config, config_hash
from schemas.identity import Origin
from schemas.model import DataModel

S = TypeVar("S", bound=DataModel)


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


async def run_handler(
    handler: Handler[S],
    bus: Bus,
    clock: Clock,
    origin: Origin,
    config: Config,
    *,
    on_progress: Callable[[str, int], None] | None = None,
    errors: ItemErrors | None = None,
) -> None:
    """Announce the settings, then follow the log until cancelled; see `Follower`."""
    publisher = Publisher(bus, origin, handler.name)
    await publisher.publish_config(config, clock.wall_ns() / 1e9)
    await Follower(handler, bus, clock, publisher, on_progress=on_progress, errors=errors).run()
