"""Replicas are added only to what is named and unprotected, and the rights suffice for it."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.outcome import Mode
from schemas.reasons import Reason
from tests.builders import make_action
from tests.safety.harness import Ground
from tests.safety.world import World
from twin.tests.contract.faces import APPLY


def replicas_of(workload: str, replicas: int) -> Any:
    """Return the action that gives a workload so many replicas."""
    return make_action(kind=ActionKind.REPLICATE, target=workload, replicas=replicas)


@pytest.mark.parametrize(
    ("workload", "reason"),
    [
        ("shop/Deployment/by-deployment", Reason.PROTECTED),
        ("quiet/Deployment/by-namespace", Reason.PROTECTED),
        ("kube-system/Deployment/dns", Reason.PROTECTED),
        ("other/Deployment/plain", Reason.NAMESPACE_NOT_NAMED),
    ],
)
async def test_nothing_out_of_bounds_gets_replicas(
    world: World, workload: str, reason: Reason
) -> None:
    """Neither what protects itself nor what nobody named."""
    outcome = await Ground(world).decide(replicas_of(workload, 2))

    assert world.recorder.writes == []
    assert outcome.reason is reason


async def test_a_workload_and_its_autoscaler_may_be_written(world: World) -> None:
    """The rights suffice for both, tried by dry runs."""
    path = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers"
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "scaler"},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 5},
    }
    alone = await Ground(world, mode=Mode.SHADOW).decide(replicas_of("shop/Deployment/web", 4))
    world.make(path, body)
    scaled = await Ground(world, mode=Mode.SHADOW).decide(replicas_of("shop/Deployment/web", 4))
    world.face.ask("DELETE", f"{path}/scaler")

    assert alone.succeeded, alone.text
    assert scaled.succeeded, scaled.text
    written = [one.path for one in world.recorder.asked if one.method == "PATCH"]
    assert written == ["/apis/apps/v1/namespaces/shop/deployments/web", f"{path}/scaler"]


async def test_replicas_that_somebody_applies_are_theirs(world: World) -> None:
    """Argo CD and others say the number again with each sync: taking the field would end in a conflict."""
    path = "/apis/apps/v1/namespaces/shop/deployments/applied"
    labels = {"app": "applied"}
    pod = {"nodeName": "nowhere", "containers": [{"name": "c", "image": "a:1"}]}
    spec = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    kind = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "applied"}}

    def apply(body: dict[str, Any]) -> None:
        query = {"fieldManager": "argocd-controller"}
        answer = world.face.ask("PATCH", path, query, body, content_type=APPLY)
        assert answer.status in {200, 201}, answer.text

    wanted = replicas_of("shop/Deployment/applied", 2)
    apply({**kind, "spec": {**spec, "replicas": 1}})
    theirs = await Ground(world).decide(wanted)
    apply({**kind, "spec": spec})
    free = await Ground(world, mode=Mode.SHADOW).decide(wanted)
    world.face.ask("DELETE", path)

    assert (theirs.reason, world.recorder.writes) == (Reason.FIELD_OWNED, [])
    (refusal,) = [check for check in theirs.guards if not check.passed]
    expected = "argocd-controller applies spec.replicas of deployments shop/applied"
    assert (refusal.guard, refusal.text) == ("field_owner", expected)
    assert free.succeeded, free.text
