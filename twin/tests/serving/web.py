"""A small cluster with a Deployment behind a Service that people use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from twin.config import TwinConfig
from twin.config.health import HealthConfig
from twin.config.serving import ServingConfig
from twin.engine import Engine
from twin.records import PodRecord
from twin.serving.backends import Account, Backends
from twin.serving.latency import quantile
from twin.workloads.arrival import NodeShape

GIB = 2**30
LABELS = {"app": "web"}
KEY = "default/web"


class Web:
    """The engine, its Service `web` and what came of its requests."""

    def __init__(
        self,
        traffic: str = "constant requests_per_second=40",
        *,
        mode: Any = "aggregate",
        replicas: int = 2,
        nodes: int = 3,
        cores: int = 4,
        limit: str = "1",
        health: HealthConfig | None = None,
        container: Mapping[str, Any] | None = None,
        **notes: str,
    ) -> None:
        config = TwinConfig(serving=ServingConfig(mode=mode), health=health or HealthConfig())
        self.engine = Engine(config, seed=5)
        self.engine.add_nodes(
            [NodeShape(f"n{i}", cores * 1_000, 16 * GIB, 0, {}) for i in range(nodes)]
        )
        resources = {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"cpu": limit}}
        program = {"name": "c", "image": "i", "resources": resources, **(container or {})}
        pod = {"containers": [program]}
        template = {"metadata": {"labels": LABELS}, "spec": pod}
        spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
        self.create("deployments", "web", spec)
        named = {f"foresail.dev/{name.replace('_', '-')}": text for name, text in notes.items()}
        annotations = {"foresail.dev/traffic": traffic, **named}
        self.create(
            "services",
            "web",
            {"selector": LABELS, "ports": [{"port": 80}]},
            annotations=annotations,
        )

    def create(self, resource: str, name: str, spec: Any, **metadata: Any) -> None:
        """Create an object in the namespace `default`."""
        obj = {"metadata": {"name": name, **metadata}, "spec": spec}
        self.engine.store.create(resource, "default", obj)

    def scale(self, replicas: int) -> None:
        """Set the replicas of the Deployment."""
        obj = self.engine.store.get("deployments", "default", "web")
        self.engine.store.replace(
            "deployments", "default", "web", {**obj, "spec": {**obj["spec"], "replicas": replicas}}
        )

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.engine.advance(self.engine.now + seconds)

    @property
    def backends(self) -> Backends:
        """The pods of the Service."""
        return self.engine.serving.services[KEY]

    @property
    def account(self) -> Account:
        """Outcome of all requests."""
        return self.backends.account

    def latency(self, share: float) -> float:
        """Return a quantile of the latency in seconds of everything served so far."""
        return quantile(self.account.latencies, share)

    def forget(self) -> None:
        """Begin the account anew, with what is present as if it came now."""
        present = float(self.backends["present"].sum())
        self.backends.account = Account(arrived=present)

    def pods(self) -> Iterator[PodRecord]:
        """Yield the pods by name."""
        for record in self.engine.store.records("pods", "default"):
            assert isinstance(record, PodRecord)
            yield record

    def unaccounted(self) -> float:
        """Return how many requests neither ended once nor are present."""
        account = self.account
        ended = account.served + account.timed_out + account.refused + account.lost
        return account.arrived - ended - float(self.backends["present"].sum())
