"""`python -m foresail.twin_server`: the twin as a process of a stack.

It ends with its parent and when it hangs, and answers `/healthz`, `/readyz` and `/metrics` as every process of
Foresail does. Its arguments and its output are those of `python -m twin`.
"""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bus.errors import InputError
from bus.hang_watch import hang_watchdog
from bus.health import HealthState, address_from, health_server
from bus.metrics import ProcessMetrics
from inputs.parent_process import PARENT_VARIABLE, die_with_parent
from twin.port.process import RunningTwin, run


def main() -> int:
    """Run until SIGTERM or SIGINT; 2 for bad input."""
    if parent := os.environ.get(PARENT_VARIABLE):
        die_with_parent(int(parent))
    try:
        address_from(os.environ)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return run(sys.argv[1:], look_after)


@asynccontextmanager
async def look_after(twin: RunningTwin) -> AsyncIterator[None]:
    """Watch the twin's event loop and answer questions about it while the block runs."""
    metrics = ProcessMetrics("twin", os.environ.get("FORESAIL_CLUSTER", ""), "")
    engine = twin.engine
    metrics.register("twin_cluster_time_seconds", "Cluster time", lambda: engine.now)
    metrics.register(
        "twin_failed_steps",
        "Steps that raised since the start",
        lambda: engine.failed_steps,
        counts=True,
    )

    def condition() -> HealthState:
        told = {"cluster_seconds": engine.now, "failed_steps": engine.failed_steps}
        return HealthState(twin.is_ready(), told)

    async with (
        hang_watchdog(os.environ, twin.clock, twin.is_started),
        health_server(os.environ, twin.clock, metrics, condition),
    ):
        yield


if __name__ == "__main__":
    sys.exit(main())
