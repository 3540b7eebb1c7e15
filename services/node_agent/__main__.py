"""`python -m services.node_agent`: the node agent as a process."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys
from pathlib import Path

from bus.errors import ConfigError
from bus.plain_process import PlainContext, run_plain_process
from bus.process_start import settings_from
from services.node_agent.rights import required_rights
from services.node_agent.service import NAME, run
from services.node_agent.settings import NODE_VARIABLE, NodeAgentSettings
from services.official_client import OfficialClientTransport
from services.rights import REQUIRED


async def main(context: PlainContext) -> None:
    """Hold the limits of the node that the environment names until told to stop."""
    environment = context.environment
    settings = settings_from(environment, NodeAgentSettings)
    node = environment.get(NODE_VARIABLE, "")
    if not node:
        raise ConfigError(NODE_VARIABLE, "(unset)", "give the name of the node that this runs on")
    kubeconfig = environment.get("FORESAIL_KUBECONFIG") or environment.get("KUBECONFIG")
    transport = OfficialClientTransport(
        Path(kubeconfig) if kubeconfig else None,
        environment.get("FORESAIL_CONTEXT"),
        timeout_seconds=settings.request_timeout_seconds,
    )
    try:
        rights = required_rights(environment.get(REQUIRED, ""))
        await run(settings, node, transport, context.clock, context.stop, context.readiness, rights)
    finally:
        await transport.close()


if __name__ == "__main__":
    sys.exit(run_plain_process(NAME, main))
