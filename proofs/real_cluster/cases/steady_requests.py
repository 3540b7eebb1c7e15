"""What a cluster that does not change is asked: a few requests a minute beside watches, and no list of all pods."""

from __future__ import annotations

import asyncio

from proofs.real_cluster.case import Case, CaseGround

WARM_UP_SECONDS, MINUTES = 45.0, 3.0
MOST_A_MINUTE = 10.0
OWN = ":foresail:foresail-"
"""In the names of our accounts."""
METRICS = "/apis/metrics.k8s.io/"


async def run(scene: CaseGround) -> None:
    """Let collector and executor be for some minutes."""
    async with scene.session() as session:
        await asyncio.sleep(WARM_UP_SECONDS)
        mark, first = scene.cluster.audit.mark(), (await session.observation()).data.cycle
        await asyncio.sleep(60.0 * MINUTES)
        found = scene.cluster.audit.reads_since(mark, OWN)
        cycles = (await session.observation()).data.cycle - first
    metrics = sum(count for uri, count in found.items() if uri.startswith(METRICS))
    others = found.total() - metrics
    whole = [uri for uri in found if uri.startswith("/api/v1/pods") and "fieldSelector" not in uri]
    assert not whole, whole
    assert others <= MOST_A_MINUTE * MINUTES, found
    assert cycles > 0
    scene.notes.append(
        f"{MINUTES:g} minutes, {cycles} cycles: {others / MINUTES:.1f} requests a minute beside watches and writes, "
        f"{metrics / MINUTES:.1f} more for node metrics; no list of all pods"
    )


CASE = Case("a cluster in steady state is asked a few times a minute", run, 60)
