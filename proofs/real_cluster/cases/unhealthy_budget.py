"""Two budgets over one pod, which the Eviction API refuses altogether, and one that lets unhealthy pods go."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseGround, at_node
from proofs.real_cluster.cases.pdb_at_zero import BUDGETS
from proofs.real_cluster.own_nodes import POOL, having, own_nodes, pods_named, running, wait
from proofs.real_cluster.population import SHOP, deployment
from schemas.actions import ActionKind
from schemas.reasons import Reason


def _budget(name: str, **more: object) -> dict[str, object]:
    return {
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": "odd"}}, **more},
    }


def _counted(scene: CaseGround, name: str) -> bool:
    return bool(scene.api.ask("GET", f"{BUDGETS}/{name}").get("status", {}).get("expectedPods"))


async def run(scene: CaseGround) -> None:
    """Try to move pods under both."""
    move = at_node(ActionKind.MIGRATE, "odd-0")
    async with own_nodes(scene), running(scene, deployment("odd", 4, POOL)):
        async with (
            having(scene, BUDGETS, _budget("one", maxUnavailable=1)),
            having(scene, BUDGETS, _budget("two", maxUnavailable=1)),
        ):
            for name in ("one", "two"):
                await wait("its count", lambda name=name: _counted(scene, name))
            async with scene.session() as session:
                both = await session.decide(move)
            assert both.outcome.reason is Reason.PDB, both.said
            assert not both.changed
        lenient = _budget("lenient", minAvailable="100%", unhealthyPodEvictionPolicy="AlwaysAllow")
        async with having(scene, BUDGETS, lenient):
            await wait("its count", lambda: _counted(scene, "lenient"))
            sick = next(
                one for one in pods_named(scene, "odd") if one["spec"]["nodeName"] == "odd-0"
            )
            name = sick["metadata"]["name"]
            path = f"/api/v1/namespaces/{SHOP}/pods/{name}"
            unready = [{"type": "Ready", "status": "False"}]
            scene.api.ask(
                "PATCH", f"{path}/status", {"status": {"conditions": unready}},
                "application/strategic-merge-patch+json",
            )  # fmt: skip
            async with scene.session() as session:
                moved = await session.decide(move)
                gone = [one.name for one in moved.changed if one.resource == "pods/eviction"]
                assert gone == [name], moved.said
                await session.undo(moved)


CASE = Case("budgets of a pod that is not ready, and two budgets over one pod", run, 47)
