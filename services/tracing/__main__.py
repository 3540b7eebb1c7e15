"""The process `tracing`: `python -m services.tracing`, configured by the environment."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys

from bus.process import ProcessContext, run_process, settings_from
from services.tracing.service import NAME, run
from services.tracing.settings import TracingSettings


async def main(context: ProcessContext) -> None:
    """Send spans until told to stop."""
    settings = settings_from(context.environment, TracingSettings)
    await run(
        settings,
        context.bus,
        context.clock,
        context.origin.cluster,
        on_progress=context.progress,
        errors=context.errors,
    )


if __name__ == "__main__":
    sys.exit(run_process(NAME, main))
