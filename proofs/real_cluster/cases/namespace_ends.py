"""A namespace that is deleted between plan and write: what is refused is called gone, and nothing is left in it."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseGround, at_node, at_workload
from proofs.real_cluster.own_nodes import POOL, having, own_nodes, pods_named, running, wait
from proofs.real_cluster.population import deployment
from proofs.real_programs.requests import Object
from schemas.actions import ActionKind
from schemas.reasons import Reason

SPACE = "fleeting"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings"
WRITE = "foresail-executor-write"
DEFAULTS = {"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}}
CAPS = {"cpu_cap_ratio": 0.8, "memory_cap_ratio": 0.8}
GUARD = "example.com/guard"


def _binding() -> Object:
    account = {"kind": "ServiceAccount", "name": "foresail-executor", "namespace": "foresail"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": WRITE}
    return {"metadata": {"name": WRITE}, "roleRef": role, "subjects": [account]}


async def run(scene: CaseGround) -> None:
    """Cap a namespace that begins to end right before the write, and scale in it."""
    spaces = "/api/v1/namespaces"
    async with own_nodes(scene), having(scene, spaces, {"metadata": {"name": SPACE}}) as space:
        await wait("its account", lambda: scene.api.find(f"{space}/serviceaccounts/default"))
        scene.api.ask("POST", RBAC.format(SPACE), _binding())
        limits = {"metadata": {"name": "defaults"}, "spec": {"limits": [DEFAULTS]}}
        scene.api.ask("POST", f"{space}/limitranges", limits)
        async with running(scene, deployment("odd", 4, POOL), namespace=SPACE):
            for pod in pods_named(scene, "odd", SPACE):  # so that the namespace stays while it ends
                path = f"{space}/pods/{pod['metadata']['name']}"
                scene.api.ask("PATCH", path, {"metadata": {"finalizers": [GUARD]}})

            def end() -> None:
                scene.api.ask("DELETE", space)

            async with scene.session(namespaces=(SPACE,)) as session:
                session.before_write(end)
                cap = await session.decide(at_node(ActionKind.RESOURCE_CAP, "odd-0", **CAPS))
                assert cap.outcome.reason is Reason.TARGET_GONE, cap.said
                assert not cap.changed, cap.said
                raised = await session.decide(at_workload("odd", 6, SPACE))
                assert raised.outcome.reason is not Reason.FORBIDDEN, (
                    raised.said
                )  # it goes with the rest
            for pod in pods_named(scene, "odd", SPACE):
                path = f"{space}/pods/{pod['metadata']['name']}"
                scene.api.ask("PATCH", path, {"metadata": {"finalizers": None}})
        await wait("its end", lambda: scene.api.find(space) is None)


CASE = Case("a namespace that ends meanwhile is gone, not forbidden", run, 45)
