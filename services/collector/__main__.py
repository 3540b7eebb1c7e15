"""`python -m services.collector`: the collector as a process."""

from __future__ import annotations

import sys
from pathlib import Path

from bus.process import ProcessContext, run_process, settings_from
from services.cluster import OfficialClientTransport
from services.collector.service import NAME, run
from services.collector.settings import CollectorSettings


async def main(context: ProcessContext) -> None:
    """Wire the collector to NATS and to the cluster of FORESAIL_KUBECONFIG."""
    environment = context.environment
    settings = settings_from(environment, CollectorSettings)
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
