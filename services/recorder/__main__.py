"""The process `recorder`: `python -m services.recorder`, configured by the environment."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys

from bus.process import ProcessContext, run_process
from bus.process_start import settings_from
from services.recorder.service import NAME, run
from services.recorder.settings import FOLDER_VARIABLE, RecorderSettings


async def main(context: ProcessContext) -> None:
    """Record until told to stop."""
    settings = settings_from(context.environment, RecorderSettings)
    if folder := context.environment.get(FOLDER_VARIABLE):
        settings = settings.model_copy(update={"folder": folder})
    await run(settings, context.bus, context.clock, context.origin, progress=context.progress)


if __name__ == "__main__":
    sys.exit(run_process(NAME, main))
