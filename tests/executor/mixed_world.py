"""A cluster with a bit of everything, an executor on it that may die at any instruction, and what reached it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bus.follow import Publisher
from schemas.envelope import Event
from schemas.outcome import ExecutionPhase, OutcomeExecution
from services.cluster import JSON, ApiResponse, ClusterRefused, Json, Method, TwinTransport
from services.executor.ledger import evolve
from tests.builders import INTERVAL_SECONDS, make_observation, stamp_event
from tests.executor.plant import Plant
from twin.engine import Engine
from twin.inprocess import InProcessTwin
from twin.workloads import open_workload

NODES = 10
OPEN_NODES = 7
"""Nodes that may be written; the others serve another team."""
MERGE = "application/merge-patch+json"
SHOP = "namespaces/shop"
NAMED = {
    "namespaces": ("shop",),
    "writable_nodes": "pool=shop",
    "settle_seconds": 0.0,
    "unready_ratio": 0.0,
    "usage_seconds": 20.0,
}
OWNERS = {"web": 4, "api": 3, "big": 1}
"""Replicas that their owners asked for."""
LEAST_AVAILABLE, LEAST, MOST = 3, 2, 6
"""Of `web` by its PodDisruptionBudget; bounds of the autoscaler of `api`."""


class Crash(BaseException):
    """The process is gone: nothing after this is executed."""


@dataclass(frozen=True, slots=True)
class Reached:
    """One write that the server was asked for, and whether it changed something."""

    method: str
    path: str
    dry: bool
    at_seconds: float
    status: int
    changed: bool
    plan: OutcomeExecution | None
    """The plan that had begun last."""
    newest_cycle: int
    body: Any = None
    left_ready: int | None = None
    """Ready pods of `web` after an eviction."""

    @property
    def real(self) -> bool:
        """Whether it is more than a question or a dry run."""
        return not self.dry and "reviews" not in self.path


@dataclass
class Lifeline:
    """Ends the process before or after its nth step, or lets it live."""

    left: int | None = None
    steps: int = 0

    def pass_one(self) -> None:
        """Count one step.

        Raises:
            Crash: it was the last.
        """
        self.steps += 1
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Crash


class WatchedTransport(TwinTransport):
    """Notes what reaches the server; each request has a moment before it and one after it."""

    def __init__(self, plant: MixedPlant) -> None:
        """Reach the plant's cluster."""
        super().__init__(plant.twin)
        self._plant = plant

    async def request(
        self,
        method: Method,
        path: str,
        query: Any = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Send one request."""
        plant = self._plant
        plant.life.pass_one()
        if method == "GET":
            return await super().request(method, path, query, body, content_type)
        before, status = plant.version_of(path), 200
        try:
            return await super().request(method, path, query, body, content_type)
        except ClusterRefused as error:
            status = error.status
            raise
        finally:
            plant.note(method, path, query, body, status, before)
            plant.life.pass_one()


@dataclass
class MixedPlant(Plant):
    """Deployments with a budget, an autoscaler and without, Jobs, and pods of a namespace that is not ours."""

    reached: list[Reached] = field(default_factory=list)
    life: Lifeline = field(default_factory=Lifeline)
    cycle: int = 0

    def __post_init__(self) -> None:
        """Build it and let it start."""
        engine = Engine(None, 1)
        engine.add_nodes(open_workload("idle", nodes=NODES, seed=1).nodes)
        self.twin = InProcessTwin(engine)
        self.policy = {**NAMED, **self.policy}
        self.control, self.observed_cycle, self.applied = None, None, 0
        self.names = sorted(
            item["metadata"]["name"] for item in self.ask("GET", "/api/v1/nodes")["items"]
        )
        self.node = self.names[0]
        self._fill()
        self.transport = WatchedTransport(self)
        self.restart()
        self.pass_time(60.0)

    def _fill(self) -> None:
        for name in ("shop", "pay"):
            self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        for name in self.names[:OPEN_NODES]:
            self.ask(
                "PATCH", f"/api/v1/nodes/{name}", {"metadata": {"labels": {"pool": "shop"}}}, MERGE
            )
        busy = self.names[:4]
        for number, (name, replicas) in enumerate(OWNERS.items()):
            cpu = "900" if name == "big" else "200m"
            self.deployment("shop", name, replicas, busy[number : number + 2], cpu=cpu)
        self.deployment("pay", "bank", 2, self.names[OPEN_NODES:])
        budget = {"minAvailable": LEAST_AVAILABLE, "selector": {"matchLabels": {"app": "web"}}}
        self.ask("POST", f"/apis/policy/v1/{SHOP}/poddisruptionbudgets",
                 {"metadata": {"name": "web"}, "spec": budget})  # fmt: skip
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "api"}
        spec = {"scaleTargetRef": target, "minReplicas": LEAST, "maxReplicas": MOST}
        self.ask("POST", f"/apis/autoscaling/v2/{SHOP}/horizontalpodautoscalers",
                 {"metadata": {"name": "api"}, "spec": spec})  # fmt: skip
        container = {"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "900"}}}
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        for name in ("one", "two"):
            self.ask("POST", f"/apis/batch/v1/{SHOP}/jobs",
                     {"metadata": {"name": name}, "spec": {"template": template}})  # fmt: skip

    def deployment(
        self, namespace: str, name: str, replicas: int, nodes: Sequence[str], cpu: str = "200m"
    ) -> None:
        """Create a Deployment that likes some nodes, so that others stay empty."""
        amounts = {"cpu": cpu, "memory": "64Mi"}
        container = {
            "name": "c",
            "image": "a:1",
            "resources": {"requests": amounts, "limits": amounts},
        }
        wish = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}
        liked = [{"weight": 100, "preference": {"matchExpressions": [wish]}}]
        affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": liked}}
        labels = {"app": name}
        pod = {"containers": [container], "affinity": affinity}
        use = {f"foresail.dev/{amount}-usage-ratio": "0.3" for amount in ("cpu", "memory")}
        template = {"metadata": {"labels": labels, "annotations": use}, "spec": pod}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        body = {"metadata": {"name": name}, "spec": spec}
        self.ask("POST", f"/apis/apps/v1/namespaces/{namespace}/deployments", body)

    def restart(self) -> None:
        """Forget everything but the log; each publication has a moment before it and one after it."""
        super().restart()
        publisher: Publisher = self.executor._context.publisher
        publish = publisher.publish

        async def step_by_step(new_events: Any) -> tuple[Event[Any], ...]:
            self.life.pass_one()
            stored = await publish(new_events)
            self.life.pass_one()
            return stored

        publisher.publish = step_by_step  # type: ignore[method-assign]

    def ask(self, method: str, path: str, body: Any = None, form: str = JSON) -> dict[str, Any]:
        """Send a request as the cluster's administrator; an empty answer where it is refused."""
        sent = b"" if body is None else json.dumps(body).encode()
        status, answer = self.twin.request(method, path, {}, sent, form)
        return json.loads(answer) if status < 300 else {}

    def pass_time(self, seconds: float) -> None:
        """Let the cluster run, with a new observation at its end."""
        engine = self.twin.engine
        engine.advance(engine.now + seconds)
        self.cycle += max(1, round(seconds / INTERVAL_SECONDS))
        self.see(self.cycle)

    def see(self, cycle: int, **totals: Any) -> None:
        """Apply an observation of all nodes, as of now."""
        self.observed_cycle = cycle
        now = self.twin.engine.now
        data = make_observation(NODES, cycle=cycle, totals=totals, cluster_time_seconds=now)
        self.state = evolve(self.state, stamp_event(data))

    def version_of(self, path: str) -> str:
        """Return the version of the object that a write is about; empty: there is none."""
        content = self.ask("GET", _object_of(path))
        return f"{content.get('metadata', {}).get('resourceVersion', '')}" + (
            "-" if content.get("metadata", {}).get("deletionTimestamp") else ""
        )

    def ready(self, app: str) -> int:
        """Return how many pods of an app are ready and not ending."""
        pods = self.ask("GET", f"/api/v1/{SHOP}/pods")["items"]
        return sum(
            one["metadata"].get("labels", {}).get("app") == app
            and not one["metadata"].get("deletionTimestamp")
            and any(
                each["type"] == "Ready" and each["status"] == "True"
                for each in one["status"].get("conditions", [])
            )
            for one in pods
        )

    def note(self, method: str, path: str, query: Any, body: Any, status: int, before: str) -> None:
        """Remember a write as the server saw it."""
        options = body.get("dryRun") if isinstance(body, dict) else None
        evicts_web = path.endswith("/eviction") and "/web-" in path
        self.reached.append(
            Reached(
                method=method,
                path=path,
                dry=(query or {}).get("dryRun") == "All" or options == ["All"],
                at_seconds=self.twin.engine.now,
                status=status,
                changed=status < 300 and before != self.version_of(path),
                plan=self.newest_plan(),
                newest_cycle=self.observed_cycle or 0,
                body=body,
                left_ready=self.ready("web") if evicts_web else None,
            )
        )

    def newest_plan(self) -> OutcomeExecution | None:
        """Return the plan that has begun and not ended; None: none has."""
        for event in reversed(self.all_events()):
            if isinstance(event.data, OutcomeExecution):
                return event.data if event.data.phase is ExecutionPhase.STARTED else None
        return None

    async def live(self, steps: int | None = None) -> bool:
        """Act; end after so many steps. Returns whether it lived."""
        self.life = Lifeline(steps)
        try:
            await self.act()
        except Crash:
            self.life = Lifeline()
            self.restart()
            self.apply_new_events()
            return False
        return True

    def spec_of(self, name: str) -> dict[str, Any]:
        """Return a Deployment's spec and annotations."""
        found = self.ask("GET", f"/apis/apps/v1/{SHOP}/deployments/{name}")
        return {**found["spec"], "notes": found["metadata"].get("annotations") or {}}

    def writes(self) -> list[Reached]:
        """Return the real writes."""
        return [one for one in self.reached if one.real]


def _object_of(path: str) -> str:
    for subresource in ("/eviction", "/scale", "/resize", "/status"):
        path = path.removesuffix(subresource)
    return path
