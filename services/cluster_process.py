"""A service that touches the cluster, as a process: NATS and the kubeconfig's cluster, wired once for all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bus.process import ProcessContext, run_process, settings_from
from schemas.config import CODE_VERSION
from services.official_client import OfficialClientTransport
from services.rights import REQUIRED, Right
from services.rights.reviews import require_rights


def run_cluster_process(
    name: str,
    kind: type[Any],
    run: Callable[..., Awaitable[None]],
    rights: Callable[[str, Any], tuple[Right, ...]] | None = None,
) -> int:
    """Run a service until it is asked to stop; return the exit code.

    The cluster is that of FORESAIL_KUBECONFIG, or of KUBECONFIG as for kubectl; without either, the one
    that the pod runs in.

    Args:
        name: the process, which is also the producer of its events.
        kind: its settings, read from FORESAIL_SETTINGS; they hold `request_timeout_seconds`.
        run: its shell, `run(settings, bus, clock, origin, transport, *, code_version, on_progress, errors)`.
        rights: what it needs of the API server, by the value of `FORESAIL_REQUIRE_RIGHTS` and its settings; where
            that variable is set, it does not start with less.
    """

    async def main(context: ProcessContext) -> None:
        environment = context.environment
        settings = settings_from(environment, kind)
        kubeconfig = environment.get("FORESAIL_KUBECONFIG") or environment.get("KUBECONFIG")
        asked = environment.get(REQUIRED, "")
        required = rights(asked, settings) if rights is not None and asked else ()
        transport = OfficialClientTransport(
            Path(kubeconfig) if kubeconfig else None,
            environment.get("FORESAIL_CONTEXT"),
            timeout_seconds=settings.request_timeout_seconds,
        )
        try:
            namespaces = getattr(settings, "namespaces", None) or ()
            await require_rights(name, transport, required, namespaces)
            await run(
                settings,
                context.bus,
                context.clock,
                context.origin,
                transport,
                code_version=CODE_VERSION,
                on_progress=context.progress,
                errors=context.errors,
            )
        finally:
            await transport.close()

    return run_process(name, main)
