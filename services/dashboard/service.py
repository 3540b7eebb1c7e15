"""The dashboard's shell: follow the log, serve the page, stop at once when told to."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
import uvicorn

from bus.cancellation import cancel_and_wait
from bus.clock import Clock
from bus.errors import ConfigError
from bus.item_errors import ItemErrors
from bus.large_blocks import return_large_blocks
from bus.port import Bus
from schemas.identity import Origin
from services.dashboard.access import check_access
from services.dashboard.app import make_app
from services.dashboard.compare import Compare
from services.dashboard.connections import HEAD_BYTES, BoundedConnection
from services.dashboard.hub import Hub
from services.dashboard.settings import DashboardSettings
from services.dashboard.what_if import WhatIf

STOP_SECONDS = 2
THREAD_SECONDS = 0.0005
"""After which a thread that reads incidents lets the others have their turn, a tenth of what is usual: a moment that
is shown meanwhile waits for it tens of times.
"""


class PageServer(uvicorn.Server):
    """A server that leaves signals to the process that runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take no signal."""
        yield


async def run(
    settings: DashboardSettings,
    bus: Bus,
    clock: Clock,
    origin: Origin,
    *,
    on_progress: Callable[[str, int], None] | None = None,
    replay_text: Callable[[], str] | None = None,
    errors: ItemErrors | None = None,
    file: str = "",
    appended_ms: Callable[[], int | None] | None = None,
    what_if: WhatIf | None = None,
    compare: Compare | None = None,
) -> None:
    """Serve the page until cancelled; `replay_text` says how far a replay is, `file` names a recording that is shown,
    `appended_ms` says when it was last added to (None: nothing more comes), `what_if` computes what other settings
    would have decided, `compare` what a recording has beside what is shown.

    An event that cannot be shown, and a request that cannot be answered, end nothing; `errors` counts them.

    Raises:
        ConfigError: the address cannot be listened on, or strangers would reach it.
        BusUnavailable: the log cannot be read.
    """
    check_access(settings)
    sys.setswitchinterval(THREAD_SECONDS)
    return_large_blocks()  # of which packing states and incidents makes many
    listening = listen(settings)
    hub = Hub(settings, bus, clock, origin, on_progress, replay_text, errors, file, appended_ms)
    served = settings.model_copy(update={"port": listening.getsockname()[1]})
    structlog.get_logger("dashboard").info("serving", url=served.url)
    tasks = [
        asyncio.create_task(hub.follow(), name="dashboard-follow"),
        asyncio.create_task(hub.render(), name="dashboard-render"),
    ]
    remembering = asyncio.create_task(hub.remember(), name="dashboard-remember")
    server = PageServer(
        uvicorn.Config(
            make_app(hub, what_if, compare),
            lifespan="off",
            http=BoundedConnection,
            ws="none",
            h11_max_incomplete_event_size=HEAD_BYTES,
            log_level="error",  # a client's nonsense is no event of ours
            access_log=False,
            log_config=None,
            server_header=False,
            ssl_certfile=settings.tls_certificate,
            ssl_keyfile=settings.tls_key,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listening]), name="dashboard-serve")
    try:
        done, _ = await asyncio.wait([*tasks, serving], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await _stop(hub, server, serving, [*tasks, remembering])
        listening.close()


def listen(settings: DashboardSettings) -> socket.socket:
    """Return a bound socket.

    Raises:
        ConfigError: the port is taken, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio only sends at once, without waiting 40 ms for a late acknowledgement, where the protocol is named.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        where = f"{settings.host}:{settings.port}"
        remedy = f"{error.strerror}; choose another --dashboard-port"
        raise ConfigError("dashboard.port", where, remedy) from error
    return listening


async def _stop(
    hub: Hub, server: PageServer, serving: asyncio.Task[None], tasks: list[asyncio.Task[None]]
) -> None:
    hub.close()
    server.should_exit = True
    await cancel_and_wait(*tasks)
    await asyncio.gather(serving, return_exceptions=True)
