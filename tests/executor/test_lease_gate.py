"""The door to a real API server asks once more, when a write has its turn: without the Lease nothing is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from services.cluster import ApiResponse, ClusterRefused, Json, Method
from services.executor.lease import lease_path
from services.official_client import OfficialClientTransport

POD = "/api/v1/namespaces/shop/pods/web"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Door(OfficialClientTransport):
    """The product's door, before a server that notes what arrives."""

    def __init__(self, folder: Path) -> None:
        """Use a kubeconfig that leads nowhere."""
        file = folder / "config"
        user = {"name": "u", "user": {"token": "t"}}
        cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
        context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [cluster],
            "users": [user],
            "contexts": [context],
            "current-context": "x",
        }
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        super().__init__(file)
        self.arrived: list[tuple[str, str, float]] = []
        self.busy = 0

    def _send(
        self,
        method: Method,
        path: str,
        query: Any,
        body: Json | None,
        content_type: str,
        most_seconds: float,
    ) -> ApiResponse:
        if self.busy:
            self.busy -= 1
            raise ClusterRefused(429, "TooManyRequests", "busy", retry_after_seconds=0.0)
        self.arrived.append((method, path, most_seconds))
        return ApiResponse(200, b"{}", 0.0)


def refuse(path: str) -> float:
    """Answer as one that holds no Lease."""
    raise ClusterRefused(0, "LeaseLost", path)


async def test_without_the_lease_no_write_is_sent(tmp_path: Path) -> None:
    """Reads and dry runs are; so they are where nobody set a gate."""
    door = Door(tmp_path)
    await door.request("PATCH", POD, {}, {})
    door.gate_writes(refuse)
    for method in ("POST", "PATCH", "PUT", "DELETE"):
        with pytest.raises(ClusterRefused, match="LeaseLost"):
            await door.request(method, POD, {}, {})  # type: ignore[arg-type]
    await door.request("GET", POD)
    await door.request("PATCH", POD, {"dryRun": "All"}, {})
    await door.request("DELETE", POD, {}, {"dryRun": ["All"]})
    assert [one[0] for one in door.arrived] == ["PATCH", "GET", "PATCH", "DELETE"]


async def test_the_gate_is_asked_again_when_a_busy_server_was_waited_for(tmp_path: Path) -> None:
    """What was allowed before the wait is not any more."""
    door, left = Door(tmp_path), [5.0, 0.0]

    def run_out(path: str) -> float:
        seconds = left.pop(0)
        return seconds or refuse(path)

    door.gate_writes(run_out)
    door.busy = 1
    with pytest.raises(ClusterRefused, match="LeaseLost"):
        await door.request("PATCH", POD, {}, {})
    assert door.arrived == []


async def test_a_write_has_no_longer_than_the_lease(tmp_path: Path) -> None:
    """Its time-out is what is left of it."""
    door = Door(tmp_path)
    door.gate_writes(lambda path: 2.5 if path == POD else float("inf"))
    await door.request("PATCH", POD, {}, {})
    await door.request("PUT", lease_path("kube-system", "foresail-executor"), {}, {})
    await door.request("POST", REVIEWS, {}, {})
    assert [one[2] for one in door.arrived] == [2.5, 10.0, 10.0]
