"""`python -m services.executor`: the executor as a process."""

from __future__ import annotations

import sys
from pathlib import Path

from bus.process import ProcessContext, run_process, settings_from
from schemas.config import CODE_VERSION
from services.cluster import OfficialClientTransport
from services.executor.service import NAME, run
from services.executor.settings import ExecutorSettings


async def main(context: ProcessContext) -> None:
    """Wire the executor to NATS and to the cluster of FORESAIL_KUBECONFIG."""
    environment = context.environment
    settings = settings_from(environment, ExecutorSettings)
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
            code_version=CODE_VERSION,
            on_progress=context.progress,
        )
    finally:
        await transport.close()


if __name__ == "__main__":
    sys.exit(run_process(NAME, main))
