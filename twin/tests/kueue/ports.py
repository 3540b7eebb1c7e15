"""Two ways to a twin with Kueue: the router in this process, and the official client over HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from twin.api.connections import create_server
from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.api.server import ApiServer
from twin.api.tokens import Tokens
from twin.config import TwinConfig
from twin.config.kueue import KueueConfig
from twin.engine import Engine
from twin.workloads.arrival import NodeShape

Object = dict[str, Any]
GROUP = "kueue.x-k8s.io"
GIB = 2**30
MERGE = "application/merge-patch+json"
NODES = ("n0", "n1", "n2", "n3")


class Refused(Exception):
    """A request that was answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


class Port(Protocol):
    """A way to ask for objects by path."""

    engine: Engine

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """Send one request; raises Refused."""

    def run(self, seconds: float) -> None:
        """Let cluster time pass."""


def build_engine(nodes: Mapping[str, Object], config: KueueConfig) -> Engine:
    """Return a cluster of four machines with Kueue."""
    engine = Engine(TwinConfig(kueue=config), seed=11)
    shapes = [
        NodeShape(name, 16_000, 64 * GIB, 0, dict(nodes.get(name, {}).get("labels", {})))
        for name in NODES
    ]
    engine.add_nodes(shapes)
    engine.advance(engine.now + 1.0)
    return engine


class InProcessPort:
    """The router in this process."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._router = Router(engine)

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """Send one request; see Port."""
        raw = b"" if body is None else json.dumps(body).encode()
        kind = MERGE if method == "PATCH" else "application/json"
        answer = self._router.handle(Request(method, path, query, {"content-type": kind}, raw))
        text = answer.body if isinstance(answer, Response) else b"".join(answer.chunks)  # type: ignore[union-attr]
        found = json.loads(text)
        if isinstance(answer, Response) and answer.status >= 400:
            raise Refused(answer.status, found["message"])
        return found

    def run(self, seconds: float) -> None:
        """Let cluster time pass."""
        self.engine.advance(self.engine.now + seconds)


class ClientPort:
    """The official client; objects of Kueue go through its CustomObjectsApi."""

    def __init__(self, engine: Engine, address: str, token: str, loop: Any) -> None:
        self.engine = engine
        self._loop = loop
        settings = client.Configuration(host=address)
        settings.api_key = {"authorization": f"Bearer {token}"}
        self._api = client.ApiClient(settings)
        self._custom = client.CustomObjectsApi(self._api)

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """Send one request; see Port."""
        try:
            if path.startswith(f"/apis/{GROUP}/"):
                return self._ask_custom(method, path, body)
            return self._ask_plainly(method, path, body, query)
        except ApiException as error:
            raise Refused(error.status, json.loads(error.body)["message"]) from error

    def _ask_custom(self, method: str, path: str, body: Any) -> Any:
        """Ask by the method of CustomObjectsApi that is meant for it."""
        parts = path.split("/")[2:]
        group, version, rest = parts[0], parts[1], parts[2:]
        inside = rest[0] == "namespaces"
        place = (group, version, rest[1], rest[2]) if inside else (group, version, rest[0])
        names = rest[3:] if inside else rest[1:]
        scope = "namespaced" if inside else "cluster"
        tail = "_status" if len(names) == 2 else ""
        known = {
            "POST": ("create", ""),
            "GET": ("get" if names else "list", ""),
            "PATCH": ("patch", tail),
            "PUT": ("replace", tail),
            "DELETE": ("delete", ""),
        }
        verb, end = known[method]
        call = getattr(self._custom, f"{verb}_{scope}_custom_object{end}")
        extra = () if body is None else (body,)
        more: Object = {"_content_type": MERGE} if method == "PATCH" else {}
        return call(*place, *names[:1], *extra, **more)

    def _ask_plainly(self, method: str, path: str, body: Any, query: Mapping[str, str]) -> Any:
        kind = MERGE if method == "PATCH" else "application/json"
        found = self._api.call_api(
            method,
            f"{self._api.configuration.host}{path}?" + "&".join(f"{k}={v}" for k, v in query.items()),
            {"Content-Type": kind, "Accept": "application/json",
             "Authorization": self._api.configuration.api_key["authorization"]},
            body=body,
        )  # fmt: skip
        content = found.read()
        if found.status >= 400:
            raise Refused(found.status, json.loads(content)["message"])
        return json.loads(content)

    def run(self, seconds: float) -> None:
        """Let cluster time pass, between two requests."""

        async def advance() -> None:
            self.engine.advance(self.engine.now + seconds)

        asyncio.run_coroutine_threadsafe(advance(), self._loop).result()


@contextmanager
def served(engine: Engine) -> Iterator[ClientPort]:
    """Serve a cluster over HTTP on a free port of this machine, from a thread of its own."""
    tokens = Tokens.draw()
    server = create_server(ApiServer(engine, tokens), None)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    started, place = threading.Event(), {}

    async def serve() -> None:
        place["loop"] = asyncio.get_running_loop()
        task = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.005)
        started.set()
        await task

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert started.wait(60)
    try:
        host, number = listener.getsockname()
        yield ClientPort(engine, f"http://{host}:{number}", tokens.of_all()["admin"], place["loop"])
    finally:
        server.should_exit = True
        thread.join()
