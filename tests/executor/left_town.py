"""A shop in the embedded cluster with each mark that an action of ours leaves, and stacks one after another."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from bus.follow import Publisher
from bus.memory_adapter import MemoryBus, MemoryLog
from schemas.envelope import NewEvent
from tests.builders import ORIGIN, make_observation
from tests.executor.lease_world import STRANGER, World, ended

MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
NODE, SHOP = "/api/v1/nodes", "/api/v1/namespaces/shop"
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
AUTOSCALER = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web"
AMOUNTS = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "4", "memory": "2Gi"}}
RAISE = {"base": 2, "ours": 5, "owner": 2, "time_seconds": 1}
RAISED = {"foresail.dev/owner-replicas": json.dumps(RAISE)}
QUOTA = {
    "metadata": {
        "name": "foresail-cap",
        "annotations": {
            "foresail.dev/decision": "d",
            "foresail.dev/expires": "2026-01-01T00:00:00Z",
        },
    },
    "spec": {"hard": {"requests.cpu": "50", "requests.memory": "50Gi"}},
}
SLEPT = {
    "metadata": {"annotations": {"foresail.dev/power-state": "sleep"}},
    "spec": {"unschedulable": True},
}
CLOCK = {
    "foresail.dev/clock-scale": "0.65",
    "foresail.dev/clock-scale-decision": "d",
    "foresail.dev/clock-scale-expires": "2026-01-01T00:00:00Z",
}


class Town(World):
    """A shop of two Deployments and a Job in the embedded cluster, and stacks with logs of their own."""

    pod = ""
    """The path of a pod of the Deployment `web`."""

    def ask(
        self, method: str, path: str, body: Any = None, form: str = "application/json", **query: str
    ) -> dict[str, Any]:
        """Send a request as the cluster's administrator, or in a field manager's name."""
        sent = b"" if body is None else json.dumps(body).encode()
        status, answer = self.plant.twin.request(method, path, query, sent, form)
        assert status in {200, 201}, answer
        content: dict[str, Any] = json.loads(answer)
        return content

    def furnish(self) -> None:
        """Create everything, and let it run."""
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
        for name, replicas in (("web", 2), ("held", 2)):
            labels = {"app": name}
            container = {"name": "c", "image": "a:1", "resources": AMOUNTS}
            template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
            spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
            self.ask("POST", DEPLOYMENTS, {"metadata": {"name": name}, "spec": spec})
        pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "a:1"}]}
        job = {"metadata": {"name": "job"}, "spec": {"template": {"spec": pod}}}
        self.ask("POST", "/apis/batch/v1/namespaces/shop/jobs", job)
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "held"}
        spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9}
        self.ask("POST", AUTOSCALER.rpartition("/")[0], {"metadata": {"name": "web"}, "spec": spec})
        self.pass_time()
        self.pod = self.owned_pod()

    def owned_pod(self) -> str:
        """Return the path of a pod of `web` that says who made it, as a real one does and the simulation's do not."""
        found = self.ask("GET", f"{SHOP}/pods", labelSelector="app=web")["items"]
        path = f"{SHOP}/pods/{min(one['metadata']['name'] for one in found)}"
        fields = {"f:spec": {"f:containers": {'k:{"name":"c"}': {"f:resources": {}}}}}
        maker = {
            "manager": "kube-controller-manager",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        self.ask("PATCH", path, {"metadata": {"managedFields": [maker]}}, MERGE)
        return path

    def pass_time(self, seconds: float = 60.0) -> None:
        """Let the cluster run."""
        engine = self.plant.twin.engine
        engine.advance(engine.now + seconds)

    def own(self, path: str, body: Any, form: str = MERGE) -> None:
        """Write as a stack of ours does."""
        self.ask("PATCH", path, body, form, fieldManager="foresail")

    @property
    def nodes(self) -> list[str]:
        """Paths of the nodes."""
        return [f"{NODE}/{one['metadata']['name']}" for one in self.ask("GET", NODE)["items"]]

    async def see(self, log: MemoryLog, cycle: int) -> None:
        """Publish an observation."""
        data = make_observation(3, cycle=cycle)
        bus = MemoryBus(log, ORIGIN.cluster)
        await Publisher(bus, ORIGIN, "collector").publish(
            [NewEvent(data, data.cycle, data.cluster_time_seconds)]
        )

    async def next_stack(self, *cycles: int, **options: Any) -> MemoryLog:
        """Run a stack that knows nothing of the one before it, over some cycles; return its log."""
        log = MemoryLog()
        stack = self.executor(STRANGER, self.door(), log, **options)
        async with ended(stack):
            await asyncio.sleep(20.0)
            for cycle in cycles or (1, 2):
                await self.see(log, cycle)
                await asyncio.sleep(5.0)
            assert not stack.done() or stack.result() is None
        return log

    def state_of(self, path: str) -> dict[str, Any]:
        """Return what people see of an object: annotations and spec."""
        found = self.ask("GET", path)
        notes = found["metadata"].get("annotations") or {}
        own = {name: text for name, text in notes.items() if name.startswith("foresail.dev/")}
        return {"annotations": own, "spec": found["spec"]}


def leave_everything(town: Town) -> list[str]:
    """Leave each mark that an action of ours makes; return the paths of what bears one."""
    first, second, third = town.nodes
    taints = [
        {"key": f"foresail.dev/{name}", "value": "true", "effect": effect}
        for name, effect in (
            ("risk", "PreferNoSchedule"),
            ("limited", "PreferNoSchedule"),
            ("capped", "NoSchedule"),
        )
    ]
    theirs = {"key": "team", "value": "shop", "effect": "PreferNoSchedule"}
    town.own(first, {"spec": {"taints": [theirs, *taints]}})
    town.own(second, SLEPT)
    town.own(third, {"metadata": {"annotations": CLOCK}})
    less = {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]}
    town.own(f"{town.pod}/resize", {"spec": less}, STRATEGIC)
    town.own(f"{DEPLOYMENTS}/web", {"metadata": {"annotations": RAISED}, "spec": {"replicas": 5}})
    held = {"metadata": {"annotations": {"foresail.dev/held": '{"replicas": 2}'}}}
    town.own(f"{DEPLOYMENTS}/held", {**held, "spec": {"replicas": 0}})
    job = "/apis/batch/v1/namespaces/shop/jobs/job"
    suspended = {"metadata": {"annotations": {"foresail.dev/held": '{"suspend": false}'}}}
    town.own(job, {**suspended, "spec": {"suspend": True}})
    least = {"foresail.dev/owner-replicas": json.dumps({**RAISE, "base": 1, "ours": 3, "owner": 1})}
    town.own(AUTOSCALER, {"metadata": {"annotations": least}, "spec": {"minReplicas": 3}})
    town.ask("POST", f"{SHOP}/resourcequotas", QUOTA, fieldManager="foresail")
    return [
        first,
        second,
        third,
        town.pod,
        f"{DEPLOYMENTS}/web",
        f"{DEPLOYMENTS}/held",
        job,
        AUTOSCALER,
    ]
