"""The process `referee`: `python -m services.referee`, configured by the environment."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys

from bus.handler_process import config_of
from bus.process import ProcessContext, run_handler_process, run_process, settings_from
from schemas.config import CODE_VERSION
from services.referee.service import build
from services.referee.settings import RefereeSettings


async def main(context: ProcessContext) -> None:
    """Decide until told to stop."""
    settings = settings_from(context.environment, RefereeSettings)
    handler = build(settings, context.origin)
    config = config_of(handler.name, settings.announcement(), CODE_VERSION)
    await run_handler_process(context, handler, config)


if __name__ == "__main__":
    sys.exit(run_process("referee", main))
