"""The process `inference`: `python -m services.inference`, configured by the environment."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys

from bus.handler_process import config_of, run_handler
from bus.process import ProcessContext, run_process
from bus.process_start import settings_from
from schemas.config import CODE_VERSION
from services.inference.service import build
from services.inference.settings import InferenceSettings


async def main(context: ProcessContext) -> None:
    """Predict until told to stop."""
    settings = settings_from(context.environment, InferenceSettings)
    handler = build(settings, context.origin)
    config = config_of(handler.name, settings.announcement(), CODE_VERSION, handler.model_ids)
    await run_handler(
        handler, context.bus, context.clock, context.origin, config, on_progress=context.progress
    )


if __name__ == "__main__":
    sys.exit(run_process("inference", main))
