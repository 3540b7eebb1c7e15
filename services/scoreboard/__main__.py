"""The process `scoreboard`: `python -m services.scoreboard`, configured by the environment."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys

from bus.handler_process import config_of
from bus.process import ProcessContext, run_handler_process, run_process, settings_from
from schemas.config import CODE_VERSION
from services.scoreboard.service import build
from services.scoreboard.settings import ScoreboardSettings


async def main(context: ProcessContext) -> None:
    """Score until told to stop."""
    settings = settings_from(context.environment, ScoreboardSettings)
    handler = build(settings, context.origin)
    config = config_of(handler.name, settings.announcement(), CODE_VERSION)
    await run_handler_process(context, handler, config)


if __name__ == "__main__":
    sys.exit(run_process("scoreboard", main))
