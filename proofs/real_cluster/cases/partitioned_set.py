"""A StatefulSet that is held in the middle of a rollout by its partition: one pod, the last one, and back as it was."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseGround, at_node
from proofs.real_cluster.own_nodes import POOL, own_nodes, pods_named, running, wait
from proofs.real_cluster.population import SHOP, deployment
from schemas.actions import ActionKind
from schemas.reasons import Reason

SETS = f"/apis/apps/v1/namespaces/{SHOP}/statefulsets"


async def run(scene: CaseGround) -> None:
    """Change its template with a partition of 3, and move pods off a node, twice."""
    body = deployment("odd", 4, POOL)
    body["kind"] = "StatefulSet"
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 3}}
    body["spec"].update(serviceName="odd", podManagementPolicy="Parallel", updateStrategy=strategy)
    async with own_nodes(scene), running(scene, body, collection=SETS) as path:
        image = {"containers": [{"name": "c", "image": "i:2"}]}
        strategic = "application/strategic-merge-patch+json"
        scene.api.ask("PATCH", path, {"spec": {"template": {"spec": image}}}, strategic)
        await wait("the new revision", lambda: _images(scene).count("i:2") == 1)
        await wait(
            "all ready", lambda: scene.api.ask("GET", path)["status"].get("readyReplicas") == 4
        )
        node = next(one["spec"]["nodeName"] for one in pods_named(scene, "odd"))
        async with scene.session(cool_down_seconds=0) as session:
            first = await session.decide(at_node(ActionKind.MIGRATE, node))
            assert first.outcome.succeeded, first.said
            evicted = [one.name for one in first.changed if one.resource == "pods/eviction"]
            assert len(evicted) == 1, evicted
            again = await session.decide(at_node(ActionKind.MIGRATE, node))
            if again.changed:
                assert again.outcome.succeeded, again.said
            else:
                assert again.outcome.reason in {Reason.NO_MOVABLE_POD, Reason.COOL_DOWN}, again.said
            await session.undo(first)
        await wait("all back", lambda: sorted(_images(scene)) == ["i:1"] * 3 + ["i:2"])
        scene.notes.append(
            f"evicted {evicted[0]}; afterwards three pods of the old revision, one of the new"
        )


def _images(scene: CaseGround) -> list[str]:
    return [one["spec"]["containers"][0]["image"] for one in pods_named(scene, "odd")]


CASE = Case(
    "a StatefulSet held by its partition gives up one pod, and keeps both revisions", run, 46
)
