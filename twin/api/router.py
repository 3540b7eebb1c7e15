"""From request to response: one pure, synchronous function over the engine."""

from __future__ import annotations

import re

from twin.api import discovery
from twin.api.bodies import check_namespace, json_of, map_of, object_of, sound, whole_seconds
from twin.api.listing import list_objects, plain_list, stripped
from twin.api.messages import Object, Request, Response, WatchResponse, is_dry_run, respond
from twin.api.patching import patched
from twin.api.scaling import rescaled, scale_of
from twin.api.tables import table, wants_table
from twin.api.watching import watch
from twin.engine import Engine
from twin.errors import ApiError, not_found
from twin.kinds import KINDS, Kind

_RESOURCE_PATH = re.compile(
    r"^/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/[a-z]))?/(?P<resource>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[a-z]+))?$"
)
WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Router:
    """Answers requests from the engine's store."""

    def __init__(self, engine: Engine) -> None:
        """Serve this engine's cluster."""
        self._engine = engine
        self._store = engine.store

    def handle(self, request: Request, *, may_write: bool = True) -> Response | WatchResponse:
        """Answer one request; every refusal is a Status object."""
        try:
            return self._handle(request, may_write=may_write)
        except ApiError as error:
            headers = {"Retry-After": "5"} if error.status == 429 else {}
            answer = respond(error.status, error.to_status())
            return Response(answer.status, answer.body, headers=headers)

    def _handle(self, request: Request, *, may_write: bool) -> Response | WatchResponse:
        path = request.path.rstrip("/") or "/"
        found = _RESOURCE_PATH.match(path)
        if found is None or self._is_group_path(path):
            return self._information(path, request, may_write=may_write)
        group, version = found["group"] or "", found["core"] or found["version"]
        resource, namespace = found["resource"], found["namespace"]
        if request.method in WRITING and not may_write and resource != "selfsubjectaccessreviews":
            raise _forbidden(request.method, resource, group)
        if group == discovery.METRICS_GROUP:
            return self._metrics(resource, namespace, found["name"], request)
        if group == "authorization.k8s.io":
            return self._access_review(request, may_write=may_write)
        kind = KINDS.get(resource)
        if kind is None or (kind.group, kind.version) != (group, version):
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        if found["subresource"]:
            return self._subresource(
                kind, namespace or "", found["name"], found["subresource"], request
            )
        if found["name"]:
            return self._object(kind, namespace or "", found["name"], request)
        return self._collection(kind, namespace, request)

    def _is_group_path(self, path: str) -> bool:
        parts = path.strip("/").split("/")
        return (
            parts[0] in {"openapi", "foresail"}
            or (parts[0] == "apis" and len(parts) <= 3)
            or path == "/api/v1"
        )

    # ---- what is served

    def _information(self, path: str, request: Request, *, may_write: bool) -> Response:
        if path in {"/healthz", "/readyz", "/livez"}:
            return Response(200, b"ok", "text/plain")
        if path == "/version":
            return respond(200, discovery.VERSION)
        accept = request.headers.get("accept", "")
        asked = re.search(
            r"v=(v2beta1|v2);?[^,]*as=APIGroupDiscoveryList|as=APIGroupDiscoveryList[^,]*v=(v2beta1|v2)",
            accept,
        )
        if path in {"/api", "/apis"} and asked is not None:
            version = asked[1] or asked[2]
            groups = [("", "v1")] if path == "/api" else discovery.group_versions()
            body = respond(200, discovery.aggregated(groups, version)).body
            kind = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
            return Response(200, body, kind)
        if path == "/api":
            return respond(200, discovery.api_versions())
        if path == "/apis":
            return respond(200, discovery.api_groups())
        return self._documents(path, request, may_write=may_write)

    def _documents(self, path: str, request: Request, *, may_write: bool) -> Response:
        parts = path.strip("/").split("/")
        pairs = {("", "v1"), *discovery.group_versions()}
        if path == "/openapi/v2":
            return Response(200, b"", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
        if path == "/openapi/v3":
            return respond(200, discovery.openapi_v3())
        if path.startswith("/openapi/v3/"):
            pair = (
                ("", "v1")
                if parts[2:] == ["api", "v1"]
                else (parts[3], parts[4])
                if len(parts) == 5
                else ("", "")
            )
            if pair in pairs:
                return respond(200, discovery.openapi_v3_group(*pair))
        if path == "/api/v1":
            return respond(200, discovery.resource_list("", "v1"))
        if parts[0] == "apis" and len(parts) == 2:
            for group, version in discovery.group_versions():
                if group == parts[1]:
                    return respond(200, discovery.api_group(group, version))
        if parts[0] == "apis" and len(parts) == 3 and (parts[1], parts[2]) in pairs:
            return respond(200, discovery.resource_list(parts[1], parts[2]))
        if parts[:2] == ["foresail", "v1"]:
            return self._administration(parts[2:], request, may_write=may_write)
        raise ApiError(404, "NotFound", "the server could not find the requested resource")

    def _administration(self, parts: list[str], request: Request, *, may_write: bool) -> Response:
        """The simulation's own face: what no real cluster has."""
        if not may_write:
            raise _forbidden(request.method, "/".join(parts), "foresail.dev")
        if (
            len(parts) == 3
            and (parts[0], parts[2]) == ("nodes", "fail")
            and request.method == "POST"
        ):
            seconds = float(whole_seconds(json_of(request).get("seconds", 300)))
            self._engine.fail_node(parts[1], seconds)
            return respond(200, {"node": parts[1], "seconds": seconds})
        if parts == ["state"] and request.method == "GET":
            return respond(200, {"now": self._engine.now, "hash": self._engine.state_hash()})
        raise ApiError(404, "NotFound", "the server could not find the requested resource")

    # ---- objects

    def _collection(
        self, kind: Kind, namespace: str | None, request: Request
    ) -> Response | WatchResponse:
        if request.method == "GET":
            if request.flag("watch"):
                return watch(self._store, kind, namespace, request)
            listed = list_objects(self._store, kind, namespace, request)
            if wants_table(request.headers.get("accept", "")):
                return respond(
                    200, table(kind.resource, listed["items"], listed["metadata"], self._engine.now)
                )
            return respond(200, listed)
        if request.method == "POST":
            obj = object_of(request, kind)
            check_namespace(obj, namespace)
            return respond(
                201,
                self._store.create(kind.resource, namespace or "", obj, dry_run=request.dry_run),
            )
        if request.method == "DELETE":
            listed = list_objects(self._store, kind, namespace, request)
            for item in listed["items"]:
                self._delete(
                    kind, item["metadata"].get("namespace", ""), item["metadata"]["name"], request
                )
            return respond(200, listed)
        raise ApiError(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )

    def _object(
        self, kind: Kind, namespace: str, name: str, request: Request
    ) -> Response | WatchResponse:
        store = self._store
        if request.method == "GET":
            if request.flag("watch"):
                narrowed = {**request.query, "fieldSelector": f"metadata.name={name}"}
                return watch(
                    store,
                    kind,
                    namespace or None,
                    Request("GET", request.path, narrowed, request.headers),
                )
            obj = store.get(kind.resource, namespace, name)
            if wants_table(request.headers.get("accept", "")):
                metadata = {"resourceVersion": obj["metadata"]["resourceVersion"]}
                return respond(
                    200, table(kind.resource, [stripped(obj)], metadata, self._engine.now)
                )
            return respond(200, obj)
        if request.method == "PUT":
            obj = object_of(request, kind)
            return respond(
                200, store.replace(kind.resource, namespace, name, obj, dry_run=request.dry_run)
            )
        if request.method == "PATCH":
            return self._patch(kind, namespace, name, None, request)
        if request.method == "DELETE":
            return respond(200, self._delete(kind, namespace, name, request))
        raise ApiError(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )

    def _patch(
        self, kind: Kind, namespace: str, name: str, subresource: str | None, request: Request
    ) -> Response:
        content_type = request.headers.get("content-type", "")
        try:
            current = self._store.get(kind.resource, namespace, name)
        except ApiError as error:
            if error.status == 404 and content_type.startswith("application/apply-patch"):
                applied = sound(patched({}, content_type, request.body))
                return respond(
                    201,
                    self._store.create(kind.resource, namespace, applied, dry_run=request.dry_run),
                )
            raise
        version = current["metadata"].pop("resourceVersion")
        new = sound(patched(current, content_type, request.body))
        current["metadata"]["resourceVersion"] = version
        return respond(
            200,
            self._store.replace(
                kind.resource,
                namespace,
                name,
                new,
                subresource=subresource,
                dry_run=request.dry_run,
            ),
        )

    def _delete(self, kind: Kind, namespace: str, name: str, request: Request) -> Object:
        options = json_of(request) if request.body else {}
        conditions = map_of(options, "preconditions")
        grace = options.get("gracePeriodSeconds", request.query.get("gracePeriodSeconds"))
        dry_run = request.dry_run or is_dry_run(options.get("dryRun"))
        return self._store.delete(
            kind.resource,
            namespace,
            name,
            uid=conditions.get("uid"),
            resource_version=conditions.get("resourceVersion"),
            grace_period_seconds=None if grace is None else whole_seconds(grace),
            propagation=options.get("propagationPolicy", request.query.get("propagationPolicy")),
            dry_run=dry_run,
        )

    def _subresource(
        self, kind: Kind, namespace: str, name: str, subresource: str, request: Request
    ) -> Response:
        served = {one[0] for one in discovery.SUBRESOURCES.get(kind.resource, [])}
        if subresource not in served:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        if subresource == "status":
            if request.method == "PATCH":
                return self._patch(kind, namespace, name, "status", request)
            if request.method == "PUT":
                obj = object_of(request, kind)
                new = self._store.replace(
                    kind.resource,
                    namespace,
                    name,
                    obj,
                    subresource="status",
                    dry_run=request.dry_run,
                )
                return respond(200, new)
            return respond(200, self._store.get(kind.resource, namespace, name))
        if subresource == "scale":
            return self._scale(kind, namespace, name, request)
        if subresource == "eviction":
            return self._evict(namespace, name, request)
        self._store.get(kind.resource, namespace, name)
        return Response(
            200, f"{name}: a pod of the embedded cluster writes no log\n".encode(), "text/plain"
        )

    def _scale(self, kind: Kind, namespace: str, name: str, request: Request) -> Response:
        obj = self._store.get(kind.resource, namespace, name)
        if request.method == "GET":
            return respond(200, scale_of(obj))
        scale = scale_of(obj)
        if request.method == "PATCH":
            scale["metadata"].pop("resourceVersion", None)
            scale = patched(scale, request.headers.get("content-type", ""), request.body)
        else:
            scale = json_of(request)
        new = self._store.replace(
            kind.resource, namespace, name, rescaled(obj, scale), dry_run=request.dry_run
        )
        return respond(200, scale_of(new))

    def _evict(self, namespace: str, name: str, request: Request) -> Response:
        body = json_of(request) if request.body else {}
        options = map_of(body, "deleteOptions")
        dry_run = request.dry_run or is_dry_run(options.get("dryRun"))
        uid = map_of(options, "preconditions").get("uid")
        self._engine.evict(
            namespace,
            name,
            dry_run=dry_run,
            uid=uid,
            grace_period_seconds=options.get("gracePeriodSeconds"),
        )
        return respond(
            201,
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "code": 201,
            },
        )

    # ---- metrics and access

    def _metrics(
        self, resource: str, namespace: str | None, name: str | None, request: Request
    ) -> Response:
        if request.method != "GET" or resource not in {"nodes", "pods"}:
            raise ApiError(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            )
        metrics = self._engine.metrics
        items: list[Object] = (
            metrics.node_metrics() if resource == "nodes" else metrics.pod_metrics(namespace)
        )
        if name is not None:
            for item in items:
                if item["metadata"]["name"] == name:
                    return respond(200, item)
            raise not_found(resource, name, group=discovery.METRICS_GROUP)
        kind = "NodeMetricsList" if resource == "nodes" else "PodMetricsList"
        version = f"{discovery.METRICS_GROUP}/{discovery.METRICS_VERSION}"
        return respond(200, plain_list(kind, version, items, self._store.resource_version))

    def _access_review(self, request: Request, *, may_write: bool) -> Response:
        review = json_of(request)
        verb = map_of(map_of(review, "spec"), "resourceAttributes").get("verb", "")
        review["status"] = {"allowed": may_write or verb in {"get", "list", "watch"}}
        return respond(201, review)


def _forbidden(method: str, resource: str, group: str) -> ApiError:
    verb = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(
        method, "get"
    )
    message = (
        f'{resource} is forbidden: User "foresail:reader" cannot {verb} resource "{resource}" in API group "{group}" '
        "at the cluster scope"
    )
    return ApiError(403, "Forbidden", message, {"kind": resource, "group": group})
