"""The API server stands still for 60 s: nothing is decided blindly, and afterwards work goes on."""

from __future__ import annotations

import asyncio

from proofs.real_cluster.case import Case, CaseEnvironment, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from schemas.outcome import Mode, OutcomeExecution
from schemas.reaction import Reaction
from schemas.reasons import Reason

STOPPED_SECONDS = 60.0


async def run(scene: CaseEnvironment) -> None:
    """Freeze the server, wish for a raise, and thaw it."""
    now = scene.api.ask("GET", f"{DEPLOYMENTS.format(SHOP)}/shop-00")["spec"]["replicas"]
    async with scene.session(Mode.ACTIVE) as session:
        await session.observation(after=3)
        scene.cluster.plane.freeze("kube-apiserver")
        try:
            asked = asyncio.create_task(session.decide(at_workload("shop-00", now + 1)))
            await asyncio.sleep(STOPPED_SECONDS)
            during = [event.data for event in session.events(OutcomeExecution)]
        finally:
            scene.cluster.plane.thaw("kube-apiserver")
        step = await asked
        assert step.outcome.reason in {Reason.API_UNREACHABLE, Reason.STALE_DECISION}, step.said
        assert not step.changed
        scene.notes.append(
            f"while it stood still: {[str(one.reason or one.phase) for one in during]}"
        )

        def kinds() -> set[str]:
            return {
                str(one.kind) for event in session.events(Reaction) for one in event.data.reactions
            }

        await session.wait_for(
            "the sources to come back", lambda: "source_restored" in kinds(), 180
        )
        assert "source_lost" in kinds()
        again = await session.decide(at_workload("shop-00", now + 1))
        assert again.outcome.succeeded, again.said
        await session.undo(again)


CASE = Case("a server that stands still for 60 s gets no write, and later ones go on", run, 71)
