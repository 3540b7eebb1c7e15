"""Where flows are played: the twin with its own controllers in virtual time, and with the real programs at speed 1."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from proofs.real_programs import control_plane
from proofs.real_programs.grounds import real_ground
from proofs.real_programs.requests import Api
from twin.config import TwinConfig
from twin.engine import Engine
from twin.inprocess import InProcessTwin
from twin.tests.controller_flows.playing import Object
from twin.workloads.arrival import NodeShape

GIB = 2**30


@contextmanager
def reference(folder: Path, *, served: bool) -> Iterator[Real]:
    """Run the real controllers: on a twin as their kubelet, or (`served`) on a real API server. Raises Missing."""
    if served:
        with real_ground(folder, 3) as api:
            yield Real(api)
    else:
        with control_plane.real(folder) as (cluster, _):
            yield Real(cluster.api)


class Refused(AssertionError):
    """A request of a flow that was answered with an error."""


class Virtual:
    """The twin in this process, on a clock that only `wait` moves."""

    poll_seconds = 0.2

    def __init__(self, nodes: int = 3, config: TwinConfig | None = None) -> None:
        """Build the nodes that `foresail twin up --nodes` has."""
        self.engine = Engine(config, seed=5)
        shapes = [NodeShape(f"node-{n:04d}", 16_000, 64 * GIB, 0, {}) for n in range(nodes)]
        self.engine.add_nodes(shapes)
        self._twin = InProcessTwin(self.engine)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        media: str = "application/json",
        **query: str,
    ) -> Any:
        """Send one request; raises Refused."""
        raw = b"" if body is None else json.dumps(body).encode()
        status, content = self._twin.request(method, path, query, raw, media)
        if status >= 300:
            raise Refused(f"{method} {path}: {status} {content.decode()}")
        return json.loads(content)

    def wait(self, seconds: float) -> None:
        """Let cluster time pass."""
        self.engine.advance(self.engine.now + seconds)

    def now(self) -> float:
        """Return the cluster's time."""
        return self.engine.now

    def histories(self, paths: dict[str, str], version: str) -> dict[str, list[Object]]:
        """Return what watches from a version say at once."""
        return {name: self._history(path, version) for name, path in paths.items()}

    def _history(self, path: str, version: str) -> list[Object]:
        query = {"watch": "true", "resourceVersion": version}
        status, content = self._twin.request("GET", path, query, b"")
        assert status == 200, content
        return [json.loads(line) for line in content.splitlines()]


class Real:
    """A server that is asked over TLS; its clock is everybody's."""

    poll_seconds = 1.0

    def __init__(self, api: Api) -> None:
        """Ask as an administrator."""
        self._api = api

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        media: str = "application/json",
        **query: str,
    ) -> Any:
        """Send one request; raises Refused."""
        return self._api.ask(method, path, body, media, **query)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def now(self) -> float:
        """Return everybody's time."""
        return time.time()

    def histories(self, paths: dict[str, str], version: str) -> dict[str, list[Object]]:
        """Return what watches from a version say within three seconds."""
        with ThreadPoolExecutor(len(paths)) as pool:
            asked = {
                name: pool.submit(self._history, path, version) for name, path in paths.items()
            }
            return {name: one.result() for name, one in asked.items()}

    def _history(self, path: str, version: str) -> list[Object]:
        query = urlencode({"watch": "true", "resourceVersion": version, "timeoutSeconds": "3"})
        return [json.loads(line) for line in self._api.stream(f"{path}?{query}")]
