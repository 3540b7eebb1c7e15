"""One agent's process: `python -m services.agents NAME`, e.g. `safety`."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import argparse
import sys

from bus.handler_process import config_of
from bus.process import ProcessContext, run_handler_process, run_process, settings_from
from schemas.agents import agent_names
from schemas.config import CODE_VERSION
from services.agents.service import build
from services.agents.settings import AgentSettings


def main() -> int:
    """Propose until told to stop; return the exit code."""
    parser = argparse.ArgumentParser(prog="services.agents", description=__doc__)
    parser.add_argument("agent", choices=agent_names(), help="which agent to run")
    agent: str = parser.parse_args().agent

    async def run(context: ProcessContext) -> None:
        settings = settings_from(context.environment, AgentSettings).with_measured()
        handler = build(settings, context.origin, agent)
        config = config_of(handler.name, settings.announcement(agent), CODE_VERSION)
        await run_handler_process(context, handler, config)

    return run_process(f"agent-{agent}", run)


if __name__ == "__main__":
    sys.exit(main())
