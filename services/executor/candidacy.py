"""Who this process is where executors stand for the Lease: a stack, and one start of one process of it."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bus.clock import Clock
from bus.port import Bus
from schemas.identity import Origin
from services.cluster import Transport
from services.executor.lease import Candidate
from services.executor.service import run
from services.executor.settings import ExecutorSettings

STACK_VARIABLE = "FORESAIL_STACK_ID"
"""What tells this stack from others that may meet the same cluster; `foresail up` sets it."""
OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""In a pod, where it lies."""


def candidate_of(
    environment: Mapping[str, str], origin: Origin, namespace: str, process: str
) -> Candidate:
    """Return who stands for the Lease: replicas of one stack share its log, so they share its name.

    In a cluster the namespace tells stacks apart; elsewhere the log's address does.
    """
    place = namespace or environment.get("FORESAIL_NATS_URL", "").rpartition("@")[2]
    world = f"{origin.cluster}-{origin.incarnation}"
    return Candidate(environment.get(STACK_VARIABLE) or f"{world}@{place}", process)


async def run_as_candidate(
    environment: Mapping[str, str],
    settings: ExecutorSettings,
    bus: Bus,
    clock: Clock,
    origin: Origin,
    transport: Transport,
    **more: Any,
) -> None:
    """Run the executor as this process; see `services.executor.service.run`."""
    process = f"{platform.node()}-{os.getpid()}-{clock.wall_ns() // 10**9}"
    candidate = candidate_of(environment, origin, _own_namespace(), process)
    await run(settings, bus, clock, origin, transport, candidate=candidate, **more)


def _own_namespace() -> str:
    return OWN_NAMESPACE.read_text(encoding="utf-8").strip() if OWN_NAMESPACE.exists() else ""
