"""The API server is killed in mid-plan and comes back having forgotten what was watched (410)."""

from __future__ import annotations

import asyncio

from proofs.real_cluster.case import Case, CaseEnvironment, at_node, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from proofs.real_programs.requests import Api, Refused, until
from schemas.actions import ActionKind
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase

LISTED = "pods"


async def run(scene: CaseEnvironment) -> None:
    """Kill the server right before the first eviction; then wish for a raise."""
    node, mark = scene.node(number=6), scene.cluster.audit.mark()
    now = scene.api.ask("GET", f"{DEPLOYMENTS.format(SHOP)}/shop-00")["spec"]["replicas"]
    async with scene.session() as session:
        session.before_write(lambda: scene.cluster.plane.restart("kube-apiserver"), after=1)
        cut = await session.decide(at_node(ActionKind.MIGRATE, node))
        assert cut.outcome.phase is ExecutionPhase.FINISHED
        await asyncio.to_thread(until, "the server", lambda: _is_ready(scene.api), 120)
        before = (await session.observation()).data.cycle
        await session.wait_for(
            "fresh observations", lambda: session.events(Observation)[-1].data.cycle > before + 10
        )
        done = await session.decide(at_workload("shop-00", now + 1))
        assert done.outcome.succeeded, done.said
        back = await session.undo(done)
        assert back.outcome.succeeded, back.said
    answered = scene.cluster.audit.since(mark, "foresail-collector")
    lists = sum(one.verb == "list" and one.resource == LISTED for one in answered)
    forgotten = sum(one.code == 410 for one in answered)
    scene.notes.append(f"the collector listed all pods {lists} times; {forgotten} answers were 410")
    scene.api.ask("PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": None}})


def _is_ready(api: Api) -> bool:
    try:
        return api.find("/readyz") is not None
    except Refused:
        return False


CASE = Case("a server that is killed in mid-plan and comes back is followed again", run, 70)
