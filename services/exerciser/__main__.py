"""`python -m services.exerciser`: the exerciser as a process."""

from __future__ import annotations

import sys
from pathlib import Path

from bus.process import ProcessContext, run_process, settings_from
from services.cluster import OfficialClientTransport
from services.exerciser.service import NAME, run
from services.exerciser.settings import ExerciserSettings


async def main(context: ProcessContext) -> None:
    """Wire the exerciser to NATS and to the cluster of FORESAIL_KUBECONFIG."""
    environment = context.environment
    settings = settings_from(environment, ExerciserSettings)
    kubeconfig = environment.get("FORESAIL_KUBECONFIG")
    transport = OfficialClientTransport(
        Path(kubeconfig) if kubeconfig else None,
        environment.get("FORESAIL_CONTEXT"),
        timeout_seconds=settings.request_timeout_seconds,
    )
    try:
        await run(
            settings,
            context.bus,
            context.clock,
            context.origin,
            transport,
            on_progress=context.progress,
        )
    finally:
        await transport.close()


if __name__ == "__main__":
    sys.exit(run_process(NAME, main))
