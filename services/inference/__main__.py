"""The process `inference`: `python -m services.inference`, configured by the environment."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys

from bus.handler_process import config_of
from bus.process import ProcessContext, run_handler_process, run_process, settings_from
from schemas.config import CODE_VERSION
from services.inference.service import build
from services.inference.settings import InferenceSettings


async def main(context: ProcessContext) -> None:
    """Predict until told to stop."""
    settings = settings_from(context.environment, InferenceSettings)
    handler = build(settings, context.origin)
    handler.item = context.errors.item
    config = config_of(handler.name, settings.announcement(), CODE_VERSION, handler.model_ids)
    await run_handler_process(context, handler, config)


if __name__ == "__main__":
    sys.exit(run_process("inference", main))
