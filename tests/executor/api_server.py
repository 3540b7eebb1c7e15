"""A small API server for writes: objects with uid and resourceVersion, preconditions, dry runs,
evictions, and answers that a test scripts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from services.cluster import JSON, JSON_PATCH, ApiResponse, ClusterRefused, Json, Method
from services.cluster_version import SIMULATED_VERSION
from services.executor.plans.planned import apply_merge_patch
from services.rights.reviews import REVIEWS
from twin.api.json_patch import apply_json_patch
from twin.port.engine import ApiError

NOW = 10_000.0


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    body: Any


@dataclass
class ApiServer:
    """Implements `services.cluster.Transport`."""

    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By their path."""
    scripted: dict[tuple[str, str], list[Exception]] = field(default_factory=dict)
    """Failures by method and path, each given once."""
    asked: list[Asked] = field(default_factory=list)
    now: float = NOW

    def add(self, path: str, uid: str = "u", **content: Any) -> str:
        """Store an object and return its path."""
        metadata = {"name": path.rsplit("/", 1)[-1], "uid": uid, "resourceVersion": "1"}
        parts = path.split("/")
        if "namespaces" in parts:
            metadata["namespace"] = parts[parts.index("namespaces") + 1]
        self.objects[path] = {
            **content,
            "metadata": {**content.get("metadata", {}), **metadata},
        }
        return path

    def fail(self, method: str, path: str, *errors: Exception) -> None:
        """Answer the next requests of that kind with these errors."""
        self.scripted.setdefault((method, path), []).extend(errors)

    def writes(self) -> list[Asked]:
        """Return every request that was no read; asking for one's rights is one."""
        return [one for one in self.asked if one.method != "GET" and one.path != REVIEWS]

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Answer one request as an API server does."""
        self.asked.append(Asked(method, path, dict(query or {}), body))
        waiting = self.scripted.get((method, path))
        if waiting:
            raise waiting.pop(0)
        if method == "GET":
            return self._answer(self._read(path, query or {}))
        dry = (query or {}).get("dryRun") == "All"
        given: Any = body
        if path.endswith("/eviction"):
            preconditions = given.get("deleteOptions", {}).get("preconditions", {})
            return self._removed(path.removesuffix("/eviction"), preconditions, dry=dry)
        if method == "DELETE":
            # With a body, the query is not read.
            return self._removed(path, given["preconditions"], dry=given.get("dryRun") == ["All"])
        if content_type == JSON_PATCH:
            return self._stepped(path, given, dry=dry)
        return self._patched(path.removesuffix("/scale"), given, dry=dry)

    async def close(self) -> None:
        """Nothing is held."""

    def _read(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        if path in self.objects:
            return self.objects[path]
        if path == "/version":
            return {"gitVersion": f"v1.36.0{SIMULATED_VERSION}"}
        plural = path.rsplit("/", 1)[-1]
        if plural not in {"nodes", "pods", "deployments", "jobs"}:
            raise ClusterRefused(404, "NotFound", f"{path} not found")
        namespace = f"{path.rsplit('/', 1)[0]}/" if "/namespaces/" in path else ""
        name, _, value = query.get("fieldSelector", "").partition("=")
        items = [
            one
            for at, one in self.objects.items()
            if at.rsplit("/", 2)[-2] == plural
            and at.startswith(namespace)
            and (not name or _field(one, name) == value)
        ]
        return {"items": items, "metadata": {"resourceVersion": "9"}}

    def _object(self, path: str) -> dict[str, Any]:
        if path not in self.objects:
            raise ClusterRefused(404, "NotFound", f"{path} not found")
        return self.objects[path]

    def _removed(self, path: str, preconditions: Mapping[str, str], *, dry: bool) -> ApiResponse:
        found = self._object(path)
        _check(found, preconditions)
        if not dry:
            del self.objects[path]
        return self._answer({"status": "Success"})

    def _patched(self, path: str, patch: dict[str, Any], *, dry: bool) -> ApiResponse:
        found = self._object(path)
        wanted = patch.get("metadata", {})
        _check(found, {"resourceVersion": wanted.get("resourceVersion")})
        if wanted.get("uid", found["metadata"]["uid"]) != found["metadata"]["uid"]:
            raise ClusterRefused(422, "Invalid", "metadata.uid: field is immutable")
        patch = {**patch, "metadata": {**patch.get("metadata", {})}}
        patch["metadata"].pop("uid", None)
        patch["metadata"].pop("resourceVersion", None)
        new = apply_merge_patch(found, patch)
        if new != found and not dry:
            version = int(found["metadata"]["resourceVersion"]) + 1
            new = apply_merge_patch(new, {"metadata": {"resourceVersion": str(version)}})
            self.objects[path] = new
        return self._answer(new)

    def _stepped(self, path: str, steps: list[dict[str, Any]], *, dry: bool) -> ApiResponse:
        found = self._object(path)
        try:
            new = apply_json_patch(found, steps)
        except ApiError as error:
            raise ClusterRefused(error.status, error.reason, error.message) from error
        if new != found and not dry:
            version = int(found["metadata"]["resourceVersion"]) + 1
            new = apply_merge_patch(new, {"metadata": {"resourceVersion": str(version)}})
            self.objects[path] = new
        return self._answer(new)

    def _answer(self, content: Any) -> ApiResponse:
        return ApiResponse(200, json.dumps(content).encode(), self.now)


def _field(one: Mapping[str, Any], name: str) -> Any:
    value: Any = one
    for part in name.split("."):
        value = value.get(part, {})
    return value


def _check(found: Mapping[str, Any], preconditions: Mapping[str, Any]) -> None:
    for name in ("uid", "resourceVersion"):
        expected = preconditions.get(name)
        if expected and expected != found["metadata"][name]:
            raise ClusterRefused(409, "Conflict", f"{name} is not {expected}")
