"""A node that the control plane cannot reach: its StatefulSet keeps its pod there, since it may still run."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseGround, at_node
from proofs.real_cluster.cases.partitioned_set import SETS
from proofs.real_cluster.own_nodes import POOL, own_nodes, pods_named, running, wait
from proofs.real_cluster.population import deployment
from schemas.actions import ActionKind
from schemas.reasons import Reason


def _unreachable(scene: CaseGround, node: str) -> bool:
    taints = scene.api.ask("GET", f"/api/v1/nodes/{node}")["spec"].get("taints", [])
    return any(one["key"] == "node.kubernetes.io/unreachable" for one in taints)


async def run(scene: CaseGround) -> None:
    """Stop a node's signs of life, and have its pods moved and the node put to sleep."""
    body = deployment("odd", 2, POOL)
    body["kind"] = "StatefulSet"
    body["spec"].update(serviceName="odd", podManagementPolicy="Parallel")
    async with own_nodes(scene), running(scene, body, collection=SETS):
        node = pods_named(scene, "odd")[0]["spec"]["nodeName"]
        scene.cluster.kubelets.fail(node)
        await wait("the taint", lambda: _unreachable(scene, node))
        async with scene.session() as session:
            move = await session.decide(at_node(ActionKind.MIGRATE, node))
            assert move.outcome.reason is Reason.NO_MOVABLE_POD, move.said
            assert not move.changed, move.said
            sleep = await session.decide(at_node(ActionKind.POWER_STATE, node, power_state="sleep"))
            assert sleep.outcome.reason in {Reason.NODE_NOT_EMPTY, Reason.LAST_READY_NODES}, (
                sleep.said
            )
            assert not sleep.changed
        scene.cluster.kubelets.recover(node)


CASE = Case("a StatefulSet's pod on an unreachable node stays", run, 48)
