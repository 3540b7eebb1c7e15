"""Quotas with scopes: one for another priority class holds nobody, one for pods that ask for something does."""

from __future__ import annotations

from typing import Any

from proofs.real_cluster.case import Case, CaseGround, at_workload
from proofs.real_cluster.cases.quota_exhausted import QUOTAS
from proofs.real_cluster.own_nodes import having, wait
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from schemas.reasons import Reason

OTHERS = {"scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical"]}


async def run(scene: CaseGround) -> None:
    """Fill both in turn and wish for one replica more."""
    deployment = f"{DEPLOYMENTS.format(SHOP)}/shop-03"
    now = scene.api.ask("GET", deployment)["spec"]["replicas"]

    def counted(name: str) -> Any:
        return "used" in scene.api.ask("GET", f"{QUOTAS}/{name}").get("status", {})

    other = {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [OTHERS]}}
    async with having(scene, QUOTAS, {"metadata": {"name": "others"}, "spec": other}):
        await wait("its count", lambda: counted("others"))
        async with scene.session() as session:
            done = await session.decide(at_workload("shop-03", now + 1))
            assert done.outcome.succeeded, done.said
            await session.undo(done)
    own = {"hard": {"pods": "1"}, "scopes": ["NotBestEffort"]}
    async with having(scene, QUOTAS, {"metadata": {"name": "own"}, "spec": own}):
        await wait("its count", lambda: counted("own"))
        async with scene.session() as session:
            refused = await session.decide(at_workload("shop-03", now + 1))
        assert refused.outcome.reason is Reason.QUOTA_EXHAUSTED, refused.said
        assert not refused.requests


CASE = Case("a quota counts for the pods of its scope alone", run, 34)
