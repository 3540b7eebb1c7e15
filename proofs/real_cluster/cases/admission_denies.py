"""Rules of the cluster's admission: told from missing rights, in shadow mode too, and the next pod is tried."""

from __future__ import annotations

from typing import Any

from proofs.real_cluster.case import Case, CaseGround, at_node, at_workload
from proofs.real_cluster.own_nodes import POOL, having, own_nodes, pods_named, running, wait
from proofs.real_cluster.population import DEPLOYMENTS, SHOP, deployment
from proofs.real_programs.requests import Refused
from schemas.actions import ActionKind
from schemas.outcome import Mode
from schemas.reasons import Reason

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


def _policy(name: str, group: str, resource: str, operation: str, rule: str) -> dict[str, Any]:
    rules = {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": [operation],
        "resources": [resource],
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rules]},
        "validations": [{"expression": rule, "message": f"{name} says no", "reason": "Forbidden"}],
    }  # fmt: skip
    return {"metadata": {"name": name}, "spec": spec}


def _binding(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}}


def _in_force(scene: CaseGround, method: str, path: str, body: Any, **query: str) -> bool:
    try:
        scene.api.ask(method, path, body, dryRun="All", **query)
    except Refused as refused:
        return "says no" in refused.message
    return False


async def run(scene: CaseGround) -> None:
    """Freeze a Deployment, then keep one pod from being evicted."""
    path = f"{DEPLOYMENTS.format(SHOP)}/shop-02"
    now = scene.api.ask("GET", path)["spec"]["replicas"]
    freeze = _policy("freeze", "apps", "deployments", "UPDATE", "object.metadata.name != 'shop-02'")
    async with having(scene, POLICIES, freeze), having(scene, BINDINGS, _binding("freeze")):
        body = {"spec": {"replicas": now + 1}}
        await wait("the freeze", lambda: _in_force(scene, "PATCH", path, body))
        for mode in (Mode.SHADOW, Mode.ACTIVE):
            async with scene.session(mode) as session:
                refused = await session.decide(at_workload("shop-02", now + 1))
            assert refused.outcome.reason is Reason.ADMISSION_DENIED, refused.said
            assert "freeze says no" in refused.outcome.text, refused.said
            assert not refused.changed
    async with own_nodes(scene), running(scene, deployment("odd", 6, POOL)):
        node = "odd-0"
        kept = min(
            pod["metadata"]["name"]
            for pod in pods_named(scene, "odd")
            if pod["spec"]["nodeName"] == node
        )
        keep = _policy("keep", "", "pods/eviction", "CREATE", f"object.metadata.name != '{kept}'")
        async with having(scene, POLICIES, keep), having(scene, BINDINGS, _binding("keep")):
            eviction = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": kept, "namespace": SHOP},
            }
            where = f"/api/v1/namespaces/{SHOP}/pods/{kept}/eviction"
            await wait("the rule", lambda: _in_force(scene, "POST", where, eviction))
            async with scene.session() as session:
                moved = await session.decide(at_node(ActionKind.MIGRATE, node))
                assert moved.outcome.succeeded, moved.said
                gone = [one.name for one in moved.changed if one.resource == "pods/eviction"]
                assert len(gone) == 2, moved.said
                assert kept not in gone, gone


CASE = Case("what the cluster's admission denies is told from a missing right", run, 43)
