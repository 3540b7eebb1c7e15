"""A node of the embedded cluster with pods of a test's own making, and an executor beside it."""

from __future__ import annotations

import json
from typing import Any

from schemas.actions import ActionKind
from schemas.outcome import Mode, OutcomeExecution
from schemas.reasons import Reason
from services.cluster import JSON
from tests.builders import INTERVAL_SECONDS, make_action
from tests.executor.plant import Plant

PODS = "/api/v1/namespaces/shop/pods"
PARAMETERS = {
    ActionKind.THROTTLE: {"cpu_cap_ratio": 0.5},
    ActionKind.MEMORY_BALLOON: {"memory_scale_ratio": 0.5},
    ActionKind.RESOURCE_CAP: {"cpu_cap_ratio": 0.8, "memory_cap_ratio": 0.8},
}


class Ground:
    """An executor beside a node with pods of its own making."""

    def __init__(self, mode: Mode = Mode.ACTIVE, **policy: Any) -> None:
        """Create the namespace."""
        self.plant = Plant(mode, policy=policy)
        self.cycle = 0
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})

    def ask(self, method: str, path: str, body: Any = None, form: str = JSON) -> dict[str, Any]:
        """Send a request as the cluster's administrator."""
        sent = b"" if body is None else json.dumps(body).encode()
        status, answer = self.plant.twin.request(method, path, {}, sent, form)
        assert status in {200, 201}, answer
        content: dict[str, Any] = json.loads(answer)
        return content

    def add_pod(self, name: str, resources: Any, *, use: float = 0.3, **fields: Any) -> None:
        """Start a pod on the node that uses this share of what it requests."""
        ratios = {"foresail.dev/cpu-usage-ratio": use, "foresail.dev/memory-usage-ratio": use}
        notes = {key: str(value) for key, value in ratios.items()} | fields.pop("annotations", {})
        container = {"name": "c", "image": "a:1", "resources": resources, **fields}
        spec = {"nodeName": self.plant.node, "containers": [container]}
        self.ask("POST", PODS, {"metadata": {"name": name, "annotations": notes}, "spec": spec})

    def pod(self, name: str) -> dict[str, Any]:
        """Return a pod as the API shows it."""
        return self.ask("GET", f"{PODS}/{name}")

    def amounts(self, name: str) -> dict[str, Any]:
        """Return what the pod's container is given by its spec."""
        given: dict[str, Any] = self.pod(name)["spec"]["containers"][0]["resources"]
        return given

    async def pass_time(self, seconds: float, step: float = INTERVAL_SECONDS) -> None:
        """Let the cluster run, with an observation every few seconds."""
        engine = self.plant.twin.engine
        for _ in range(int(seconds / step)):
            engine.advance(engine.now + step)
            self.cycle += 1
            self.plant.see(self.cycle)
            await self.plant.act()

    async def decide(self, kind: ActionKind) -> OutcomeExecution:
        """Decide upon the node; return how that ended."""
        self.cycle += 1
        self.plant.see(self.cycle)
        action = make_action(kind=kind, target=self.plant.node, **PARAMETERS[kind])
        self.plant.decide(action, self.cycle)
        await self.plant.act()
        return self.plant.executions()[-1]

    async def decide_knowing(self, kind: ActionKind) -> OutcomeExecution:
        """Wish, wait until usage is known, and wish again."""
        first = await self.decide(kind)
        assert first.reason is Reason.USAGE_UNKNOWN, first.text
        await self.pass_time(360.0)
        return await self.decide(kind)
