"""The process `scoreboard`: `python -m services.scoreboard`, configured by the environment."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys

from bus.handler_process import config_of, run_handler
from bus.process import ProcessContext, run_process
from bus.process_start import settings_from
from schemas.config import CODE_VERSION
from services.scoreboard.service import build
from services.scoreboard.settings import ScoreboardSettings


async def main(context: ProcessContext) -> None:
    """Score until told to stop."""
    settings = settings_from(context.environment, ScoreboardSettings)
    handler = build(settings, context.origin)
    config = config_of(handler.name, settings.announcement(), CODE_VERSION)
    await run_handler(
        handler, context.bus, context.clock, context.origin, config, on_progress=context.progress
    )


if __name__ == "__main__":
    sys.exit(run_process("scoreboard", main))
