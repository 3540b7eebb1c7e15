"""The process `dashboard`: `python -m services.dashboard`, configured by the environment."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys
from collections.abc import Callable

from bus.process import ProcessContext, run_process, settings_from
from services.dashboard.compare import Compare
from services.dashboard.service import run
from services.dashboard.settings import DashboardSettings
from services.dashboard.what_if import WhatIf


async def serve(
    context: ProcessContext,
    what_if: WhatIf | None = None,
    compare: Callable[[str], Compare] | None = None,
) -> None:
    """Serve the page until told to stop; `compare` makes what answers beside the recording that the settings name."""
    settings = settings_from(context.environment, DashboardSettings)
    other = settings.compare
    await run(
        settings,
        context.bus,
        context.clock,
        context.origin,
        on_progress=context.progress,
        errors=context.errors,
        what_if=what_if,
        compare=None if compare is None or other is None else compare(other),
    )


if __name__ == "__main__":
    sys.exit(run_process("dashboard", serve))
