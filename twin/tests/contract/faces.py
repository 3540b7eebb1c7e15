"""The ways to a cluster that the contract suite runs over, behind one small interface."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import httpx
import yaml

from tests.patience import HANGS_SECONDS
from twin.inprocess import InProcessTwin

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; `body` is its JSON, None when it has none."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    @property
    def reason(self) -> str:
        """The reason of a Status."""
        return str(self.body.get("reason", ""))

    @property
    def version(self) -> str:
        """The resourceVersion of an object or a list."""
        return str(self.body["metadata"]["resourceVersion"])


@dataclass(frozen=True, slots=True)
class Acting:
    """For whom an administrator acts."""

    user: str
    groups: tuple[str, ...] = ()

    def headers(self) -> list[tuple[str, str]]:
        """Return the headers that say so."""
        named = [("Impersonate-User", self.user)] if self.user else []
        return named + [("Impersonate-Group", group) for group in self.groups]

    def lines(self) -> dict[str, str]:
        """Return them as a router gets them: by name in lower case, several values as lines."""
        lines: dict[str, str] = {}
        for name, value in self.headers():
            known = lines.get(name.lower())
            lines[name.lower()] = value if known is None else f"{known}\n{value}"
        return lines


class Face(Protocol):
    """A way to ask a cluster."""

    name: str
    has_headers: bool
    """Whether requests and answers carry headers, and watches follow what happens."""
    simulated: bool
    """Whether controllers and kubelets are at work behind it."""
    collects: bool
    """Whether garbage and namespaces are collected behind it."""

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
        acting_for: Acting | None = None,
    ) -> Answer:
        """Send one request; `body` may be bytes, or anything that JSON can hold."""
        ...

    def events(self, path: str, query: Mapping[str, str], most: int = 0) -> list[dict[str, Any]]:
        """Return what a watch says within a second, or its first `most` events."""
        ...


class InProcess:
    """The embedded cluster in this process."""

    name = "in process"
    has_headers = False
    simulated = True
    collects = True

    def __init__(self, twin: InProcessTwin) -> None:
        """Ask `twin`."""
        self._twin = twin

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
        acting_for: Acting | None = None,
    ) -> Answer:
        """Send one request; see `Face.ask`."""
        headers = {} if acting_for is None else acting_for.lines()
        headers["accept"] = accept
        status, found = self._twin.request(
            method, path, dict(query or {}), _raw(body), content_type, headers
        )
        return _answer(status, found, {})

    def events(self, path: str, query: Mapping[str, str], most: int = 0) -> list[dict[str, Any]]:
        """Return what a watch has to say at once."""
        status, found = self._twin.request("GET", path, {**query, "watch": "true"}, b"")
        assert status == 200, found
        lines = [json.loads(line) for line in found.splitlines()]
        return lines[:most] if most else lines


class OverHttp:
    """An API server that is reached as a kubeconfig says."""

    has_headers = True

    def __init__(self, kubeconfig: Path, name: str, *, simulated: bool) -> None:
        """Read the kubeconfig."""
        self.name = name
        self.simulated = simulated
        self.collects = simulated
        self.agent = "contract-suite"
        content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
        self.server = cluster["server"]
        self.token = user["token"]
        self.trust = _trust(cluster, kubeconfig.parent)
        self._client = httpx.Client(
            base_url=self.server,
            headers={"Authorization": f"Bearer {self.token}"},
            verify=self.trust,
            timeout=HANGS_SECONDS,
        )

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
        acting_for: Acting | None = None,
    ) -> Answer:
        """Send one request; see `Face.ask`."""
        headers = [("Accept", accept), ("User-Agent", self.agent)]
        headers += [] if acting_for is None else acting_for.headers()
        if body is not None:
            headers.append(("Content-Type", content_type))
        raw = None if body is None else _raw(body)
        response = self._client.request(
            method, path, params=dict(query or {}), content=raw, headers=headers
        )
        return _answer(response.status_code, response.content, response.headers)

    def events(self, path: str, query: Mapping[str, str], most: int = 0) -> list[dict[str, Any]]:
        """Return what a watch says; see `Face.events`."""
        expected = {"timeoutSeconds": "5" if most else "1", **query, "watch": "true"}
        lines: list[dict[str, Any]] = []
        named = {"User-Agent": self.agent}
        with self._client.stream("GET", path, params=expected, headers=named) as found:
            if found.status_code != 200:
                raise AssertionError(found.read())
            for line in found.iter_lines():
                lines.append(json.loads(line))
                if most and len(lines) == most:
                    break
        return lines

    def ask_as(self, token: str, path: str) -> Answer:
        """Read something with another token."""
        headers = {"Authorization": f"Bearer {token}", "Accept": JSON, "User-Agent": self.agent}
        found = self._client.get(path, headers=headers)
        return _answer(found.status_code, found.content, found.headers)

    def ask_again(self, path: str, tag: str, accept: str = JSON) -> Answer:
        """Read a page of which one has what an Etag stands for."""
        headers = {"If-None-Match": tag, "Accept": accept, "User-Agent": self.agent}
        found = self._client.get(path, headers=headers)
        return _answer(found.status_code, found.content, found.headers)

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()


def _trust(cluster: Mapping[str, Any], folder: Path) -> ssl.SSLContext | bool:
    if not cluster["server"].startswith("https"):
        return False
    if cluster.get("insecure-skip-tls-verify"):
        return False
    context = ssl.create_default_context()
    if "certificate-authority-data" in cluster:
        data = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context.load_verify_locations(cadata=data)
    elif "certificate-authority" in cluster:
        context.load_verify_locations(cafile=str(folder / cluster["certificate-authority"]))
    return context


def _raw(body: Any) -> bytes:
    if body is None:
        return b""
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def _answer(status: int, found: bytes, headers: Mapping[str, str]) -> Answer:
    try:
        body = json.loads(found) if found else None
    except ValueError:
        body = None
    return Answer(status, body, headers, found.decode(errors="replace"))


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace of its own on one face, with short ways to ask for what is in it."""

    face: Face
    namespace: str

    def path(self, resource: str, name: str = "", subresource: str = "") -> str:
        """Return the path of a collection, an object or a subresource."""
        parts = [GROUPS.get(resource, "/api/v1"), "namespaces", self.namespace, resource, name]
        return "/".join(part for part in (*parts, subresource) if part)

    def ask(self, method: str, resource: str, name: str = "", **more: Any) -> Answer:
        """Ask for something here."""
        subresource = more.pop("subresource", "")
        return self.face.ask(method, self.path(resource, name, subresource), **more)

    def make(self, resource: str, obj: dict[str, Any], **query: str) -> dict[str, Any]:
        """Create an object and return it."""
        response = self.ask("POST", resource, body=obj, query=query)
        assert response.status == 201, response.text
        made: dict[str, Any] = response.body
        return made

    def names(self, resource: str, **query: str) -> list[str]:
        """Return the names of what is there."""
        response = self.ask("GET", resource, query=query)
        assert response.status == 200, response.text
        return [item["metadata"]["name"] for item in response.body["items"]]

    def version(self) -> str:
        """Return the newest version."""
        return self.ask("GET", "configmaps").version

    def watch_changes(
        self, resource: str, since: str, most: int = 0, **query: str
    ) -> list[tuple[str, str]]:
        """Return (type, name) of what a watch from a version says."""
        events = self.face.events(self.path(resource), {"resourceVersion": since, **query}, most)
        return [(one["type"], one["object"]["metadata"].get("name", "")) for one in events]


GROUPS = {
    "deployments": "/apis/apps/v1",
    "replicasets": "/apis/apps/v1",
    "replicationcontrollers": "/api/v1",
    "jobs": "/apis/batch/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "leases": "/apis/coordination.k8s.io/v1",
}


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    """Return a ConfigMap."""
    metadata: dict[str, Any] = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def pod(name: str, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """Return a Pod of one small container."""
    container = {"name": "c", "image": "rancher/mirrored-pause:3.10"}
    metadata = {"name": name, "labels": labels or {}}
    whole = {"containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole}


def deployment(name: str, replicas: int = 0) -> dict[str, Any]:
    """Return a Deployment."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod(name)["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
