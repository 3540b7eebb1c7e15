"""A small cluster behind its API face, without a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from twin.api.access import ADMIN, Identity
from twin.api.messages import JSON, Request, Response
from twin.api.router import Router
from twin.engine import Engine
from twin.workloads import open_workload

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


@dataclass
class Api:
    """Asks a router, and reads its JSON."""

    engine: Engine
    router: Router

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        kind: str = JSON,
        accept: str = JSON,
        identity: Identity = ADMIN,
        acting_for: str = "",
        **query: str,
    ) -> tuple[int, Any]:
        """Send one request; return status and content."""
        raw = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        headers = {"content-type": kind, "accept": accept}
        if acting_for:
            headers["impersonate-user"] = acting_for
        answer = self.router.handle(Request(method, path, query, headers, raw), identity)
        assert isinstance(answer, Response), answer
        if not answer.content_type.startswith(JSON):
            return answer.status, answer.body.decode()
        return answer.status, json.loads(answer.body)

    def apply(self, path: str, config: Any, manager: str, **query: str) -> tuple[int, Any]:
        """Apply a configuration on the server's side."""
        return self.ask("PATCH", path, config, kind=APPLY, fieldManager=manager, **query)


@pytest.fixture
def api() -> Api:
    """Return a cluster of three idle nodes."""
    engine = Engine(None, 1)
    engine.add_nodes(open_workload("idle", nodes=3, seed=1).nodes)
    return Api(engine, Router(engine))


@pytest.fixture
def deployment() -> Callable[..., dict[str, Any]]:
    """Return what makes Deployments; arguments replace parts of the spec."""

    def make(name: str = "web", **spec: Any) -> dict[str, Any]:
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{"name": "c", "image": "i:1"}]},
                },
                **spec,
            },
        }

    return make
