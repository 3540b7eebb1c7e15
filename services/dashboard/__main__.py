"""The process `dashboard`: `python -m services.dashboard`, configured by the environment."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys

from bus.process import ProcessContext, run_process, settings_from
from services.dashboard.service import run
from services.dashboard.settings import DashboardSettings


async def main(context: ProcessContext) -> None:
    """Serve the page until told to stop."""
    settings = settings_from(context.environment, DashboardSettings)
    await run(
        settings,
        context.bus,
        context.clock,
        context.origin,
        on_progress=context.progress,
        errors=context.errors,
    )


if __name__ == "__main__":
    sys.exit(run_process("dashboard", main))
