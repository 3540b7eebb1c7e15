"""What nobody named, what is marked and the control plane: every kind is refused, and no write reaches the server."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_node, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, PAY, SHOP
from schemas.actions import ActionKind
from schemas.reasons import Reason

MARK = "foresail.dev/do-not-disrupt"


async def run(scene: CaseEnvironment) -> None:
    """Aim at another namespace, its node, the control plane and a marked Deployment."""
    wanted = {
        "another namespace": (at_workload("pay-00", 30, PAY), {Reason.NAMESPACE_NOT_NAMED}),
        "its node": (
            at_node(ActionKind.MIGRATE, scene.node("pay")),
            {Reason.NAMESPACE_NOT_NAMED, Reason.PROTECTED, Reason.NO_MOVABLE_POD},
        ),
        "a node of nobody": (
            at_node(ActionKind.DVFS, scene.node("pay"), clock_scale_ratio=0.65),
            {Reason.NODE_NOT_NAMED},
        ),
        "the control plane": (
            at_node(ActionKind.POWER_STATE, scene.node("control"), power_state="sleep"),
            {Reason.CONTROL_PLANE},
        ),
        "a marked Deployment": (at_workload("shop-01", 30), {Reason.PROTECTED}),
    }
    # A label: Kubernetes copies a Deployment's annotations to its ReplicaSet and leaves them there.
    path = f"{DEPLOYMENTS.format(SHOP)}/shop-01"
    scene.api.ask("PATCH", path, {"metadata": {"labels": {MARK: "true"}}})
    try:
        async with scene.session() as session:
            for what, (action, reasons) in wanted.items():
                step = await session.decide(action)
                assert step.outcome.reason in reasons, f"{what}: {step.said}"
                assert not step.requests, f"{what}: {step.requests}"
    finally:
        scene.api.ask("PATCH", path, {"metadata": {"labels": {MARK: None}}})


CASE = Case(
    "other namespaces, nodes of nobody, the control plane and what is marked stay as they are",
    run,
    29,
)
