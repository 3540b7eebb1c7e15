"""A Deployment in the embedded cluster, with an autoscaler and a quota where a test asks for them."""

from __future__ import annotations

import json
from typing import Any

from schemas.actions import ActionKind
from schemas.outcome import OutcomeExecution
from schemas.surge import OWNER_REPLICAS
from tests.builders import make_action
from tests.executor.plant import Plant

NAMESPACES = "/api/v1/namespaces"
NAMESPACE = f"{NAMESPACES}/shop"
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
AUTOSCALERS = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers"
MERGE = "application/merge-patch+json"
LONG_SECONDS = 1_000.0
"""Past cool-downs, caps and the memory of what was undone."""


class Shop:
    """An executor beside the Deployment `web`, whose owner asked for three replicas."""

    def __init__(self, **policy: Any) -> None:
        """Create the namespace and the Deployment; `policy` are settings of the executor."""
        self.plant = Plant(policy=policy)
        self.cycle = 0
        self.ask("POST", NAMESPACES, {"metadata": {"name": "shop"}})
        self.add_deployment("web", 3)
        self.pass_time(60.0)

    def add_deployment(self, name: str, replicas: int) -> None:
        """Create a Deployment of small pods."""
        container = {
            "name": "c",
            "image": "a:1",
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
        }
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        self.ask("POST", DEPLOYMENTS, {"metadata": {"name": name}, "spec": spec})

    def add_autoscaler(self, least: int, most: int) -> None:
        """Let a HorizontalPodAutoscaler scale the Deployment."""
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        spec = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most}
        self.ask("POST", AUTOSCALERS, {"metadata": {"name": "web"}, "spec": spec})

    def add_quota(self, **hard: str) -> None:
        """Limit the namespace, and wait until the quota's controller has counted."""
        body = {"metadata": {"name": "small"}, "spec": {"hard": hard}}
        self.ask("POST", f"{NAMESPACE}/resourcequotas", body)
        self.pass_time(60.0)

    def ask(
        self, method: str, path: str, body: Any = None, form: str = "application/json"
    ) -> dict[str, Any]:
        """Send a request as the cluster's administrator."""
        sent = b"" if body is None else json.dumps(body).encode()
        status, answer = self.plant.twin.request(method, path, {}, sent, form)
        assert status in {200, 201}, answer
        content: dict[str, Any] = json.loads(answer)
        return content

    def patch(self, path: str, body: Any) -> None:
        """Merge a patch, as the owner of an object."""
        self.ask("PATCH", path, body, MERGE)

    def pass_time(self, seconds: float = LONG_SECONDS) -> None:
        """Let the cluster run."""
        engine = self.plant.twin.engine
        engine.advance(engine.now + seconds)

    async def replicate(self, replicas: int, name: str = "web") -> OutcomeExecution:
        """Decide that a Deployment gets so many replicas; return how that ended."""
        self.cycle += 1
        self.plant.see(self.cycle)
        action = make_action(
            kind=ActionKind.REPLICATE, target=f"shop/Deployment/{name}", replicas=replicas
        )
        self.plant.decide(action, self.cycle)
        await self.plant.act()
        return self.plant.executions()[-1]

    def replicas(self, name: str = "web") -> int:
        """Return spec.replicas of a Deployment."""
        return int(self.ask("GET", f"{DEPLOYMENTS}/{name}")["spec"]["replicas"])

    def minimum(self) -> int:
        """Return spec.minReplicas of the autoscaler."""
        return int(self.ask("GET", f"{AUTOSCALERS}/web")["spec"]["minReplicas"])

    def owners_number(self, path: str = f"{DEPLOYMENTS}/web") -> int | None:
        """Return the owner's number that an object remembers; None: none."""
        annotations = self.ask("GET", path)["metadata"].get("annotations") or {}
        text = annotations.get(OWNER_REPLICAS)
        return None if text is None else int(json.loads(text)["owner"])
