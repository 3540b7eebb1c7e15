"""What hangs on an object: status, scale, eviction, log, and what a simulated pod cannot do."""

from __future__ import annotations

from typing import Any

from twin.api import discovery
from twin.api.account_tokens import AccountTokens
from twin.api.admitting import write_of
from twin.api.applying import read_application
from twin.api.bodies import check_place, read_body, read_object, require_map
from twin.api.logs import pod_log
from twin.api.messages import Object, Request, Response, is_dry_run, respond
from twin.api.objects import UNKNOWN_MANAGER, Answer, Objects, method_not_allowed
from twin.api.patching import APPLY, apply_patch, kind_of_patch, read_patch
from twin.api.scale_owners import apply_scale, owners_after_scaling, scale_writer
from twin.api.scaling import to_custom_scale, to_scale, with_custom_scale, with_scale
from twin.api.schema import root_of
from twin.api.token_requests import request_token
from twin.api.write_rules import check_named, check_patched
from twin.copying import copy_object
from twin.engine import Engine
from twin.errors import ApiError, bad_request, not_found, unknown_resource
from twin.kinds import KINDS, Kind
from twin.local_pods.runner import Runner
from twin.records import PodRecord
from twin.scheduling.binding import bind_pod
from twin.webhooks.matching import Write

CHANNELS = frozenset({"exec", "attach", "portforward", "proxy"})
"""Subresources of pods that would carry bytes into them; the twin has none of these."""
_SUCCESS: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


SCALES = Kind("scales", "Scale", "autoscaling", "v1", True)
"""What a scale is read as; no such objects are kept."""
SCALE, EVICTION = ("autoscaling", "v1", "Scale"), ("policy", "v1", "Eviction")
"""What webhooks are shown of these subresources."""


class Subresources:
    """Subresources of one engine's objects."""

    def __init__(self, engine: Engine, objects: Objects, tokens: AccountTokens) -> None:
        """Serve an engine whose objects are `objects`; `tokens` signs those of service accounts."""
        self._tokens = tokens
        self._engine = engine
        self._store = engine.store
        self._objects = objects
        self.runner: Runner | None = None
        """What runs local pods; None: every pod is simulated."""

    def answer(
        self, kind: Kind, namespace: str, name: str, subresource: str, request: Request
    ) -> Answer:
        """Answer a request on a subresource; raises ApiError."""
        self._refuse_what_is_not_simulated(kind, namespace, name, subresource)
        if subresource not in discovery.subresources_of(kind):
            if kind.custom is not None:
                raise not_found(kind.resource, name, group=kind.group)
            raise unknown_resource(f"{kind.resource}/{subresource}")
        match subresource:
            case "scale":
                return self._scale(kind, namespace, name, request)
            case "ephemeralcontainers":
                return self._part(kind, namespace, name, subresource, request)
            case "eviction":
                return self._evict(namespace, name, request)
            case "binding":
                return self.bind(namespace, name, request)
            case "token":
                return request_token(self._store, self._tokens, (namespace, name), request)
            case "finalize":
                if request.method != "PUT":
                    raise method_not_allowed()
                return self._objects.put(kind, namespace, name, request, subresource)
            case "log":
                return pod_log(self._store, namespace, name, request, self.runner)
        return self._part(kind, namespace, name, subresource, request)

    def _refuse_what_is_not_simulated(
        self, kind: Kind, namespace: str, name: str, subresource: str
    ) -> None:
        """Raise ApiError 501 for what would need a network or a channel into a pod."""
        if kind.resource == "pods" and subresource in CHANNELS:
            self.pod(namespace, name)  # says that it is not found
            message = (
                f"the simulated cluster carries nothing into pods, so {subresource} of pod {name} is not "
                "available; `kubectl logs` and `kubectl describe` tell of its life"
            )
            raise ApiError(501, "NotImplemented", message)
        if subresource == "proxy" and kind.resource in ("nodes", "services"):
            self._store.record(kind.resource, namespace, name)  # says that it is not found
            message = f"{kind.kind.lower()} {name} is simulated: it has no network"
            raise ApiError(501, "NotImplemented", message)

    def pod(self, namespace: str, name: str) -> PodRecord:
        """Return a pod; raises ApiError 404."""
        pod = self._store.record("pods", namespace, name)
        assert isinstance(pod, PodRecord)
        return pod

    def _part(
        self, kind: Kind, namespace: str, name: str, subresource: str, request: Request
    ) -> Answer:
        match request.method:
            case "GET":
                return self._objects.object(kind, namespace, name, request)
            case "PUT":
                return self._objects.put(kind, namespace, name, request, subresource)
            case "PATCH":
                return self._objects.patch(kind, namespace, name, request, subresource)
        raise method_not_allowed()

    def _scale(self, kind: Kind, namespace: str, name: str, request: Request) -> Response:
        if request.method not in {"GET", "PATCH", "PUT"}:
            raise method_not_allowed()
        obj = self._store.get(kind.resource, namespace, name)
        paths = None if kind.custom is None else kind.custom.scale
        scale = before = to_scale(obj) if paths is None else to_custom_scale(obj, paths)
        match request.method:
            case "GET":
                return respond(200, scale)
            case "PATCH" if kind_of_patch(request.headers.get("content-type", "")) == APPLY:
                return self._apply_scale(kind, obj, scale, request)
            case "PATCH":
                scale = self._patch_scale(scale, request)
            case _:
                scale = read_object(request, SCALES).obj
                check_named(scale, name)
                check_place(scale, namespace, name)
        write = write_of(
            "UPDATE", kind, (namespace, name), request, subresource="scale", shown=SCALE
        )
        scale = self._admitted(write, scale, before, request)
        changed = (
            with_scale(obj, scale) if paths is None else with_custom_scale(obj, kind, paths, scale)
        )
        manager = request.query.get("fieldManager", "") or UNKNOWN_MANAGER
        replicas = int((scale.get("spec") or {}).get("replicas") or 0)
        managed = owners_after_scaling(obj, kind, replicas, manager)
        new = self._objects.replace(
            kind, namespace, name, changed, request, via_subresource="scale", managed=managed
        )
        return respond(200, to_scale(new) if paths is None else to_custom_scale(new, paths))

    def _admitted(self, write: Write, obj: Object, old: Object | None, request: Request) -> Object:
        """Return the object of a subresource as webhooks and policies leave it."""
        admission = self._objects.admission
        if admission.idle:
            return obj
        obj = admission.mutated(write, obj, old, request, copy_object)
        admission.check([(write, (obj, old))], request)
        return obj

    def _patch_scale(self, scale: Object, request: Request) -> Any:
        media = kind_of_patch(request.headers.get("content-type", ""))
        root = root_of("autoscaling", "v1", "Scale")
        changed = apply_patch(scale, media, read_patch(request, media), root)
        return check_patched(changed, SCALES, request).obj

    def _apply_scale(self, kind: Kind, obj: Object, scale: Object, request: Request) -> Response:
        """Apply a Scale: of the object's fields its replicas alone have owners there."""
        namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
        config = read_patch(request, APPLY)
        manager, stated = read_application(SCALES, name, config, request, "")
        check_place(stated.obj, namespace, name)
        writer = scale_writer(kind, manager)
        force = request.flag("force")
        replicas, managed = apply_scale(obj, kind, stated.obj, writer, force=force)
        write = write_of(
            "UPDATE", kind, (namespace, name), request, subresource="scale", shown=SCALE
        )
        wanted = {**scale, "spec": {**scale["spec"], "replicas": replicas}}
        wanted["metadata"] = {**scale["metadata"]}
        stated_version = stated.obj["metadata"].get("resourceVersion")
        wanted["metadata"]["resourceVersion"] = stated_version or ""
        wanted = self._admitted(write, wanted, scale, request)
        paths = None if kind.custom is None else kind.custom.scale
        changed = (
            with_scale(obj, wanted)
            if paths is None
            else with_custom_scale(obj, kind, paths, wanted)
        )
        new = self._objects.replace(
            kind, namespace, name, changed, request, via_subresource="scale", managed=managed
        )
        return respond(200, to_scale(new) if paths is None else to_custom_scale(new, paths))

    def bind(self, namespace: str, name: str, request: Request) -> Response:
        """Give a pod its node, as a scheduler does."""
        if request.method != "POST":
            raise method_not_allowed()
        body = read_body(request)
        target, metadata = require_map(body, "target"), require_map(body, "metadata")
        node = str(target.get("name") or "")
        if metadata.get("name") not in (None, "", name):
            raise bad_request("name in URL does not match name in Binding object")
        if not node:
            raise ApiError(500, "", "target.name: Required value")
        if target.get("kind", "Node") not in ("", "Node"):
            stated = target["kind"]
            words = (
                f'target.kind: Unsupported value: "{stated}": supported values: "Node", "<empty>"'
            )
            raise ApiError(500, "", words)
        bind_pod(
            self._engine.world,
            self.pod(namespace, name),
            node,
            str(metadata.get("uid") or ""),
            dry_run=request.dry_run,
        )
        return respond(201, {**_SUCCESS, "code": 201})

    def _evict(self, namespace: str, name: str, request: Request) -> Response:
        if request.method != "POST":
            raise method_not_allowed()
        body = read_body(request) if request.body else {}
        _check_eviction(body, name)
        write = write_of(
            "CREATE", KINDS["pods"], (namespace, name), request, subresource="eviction",
            shown=EVICTION,
        )  # fmt: skip
        body = self._admitted(write, body, None, request)
        options = require_map(body, "deleteOptions")
        self._engine.evict(
            namespace,
            name,
            dry_run=request.dry_run or is_dry_run(options.get("dryRun")),
            uid=require_map(options, "preconditions").get("uid"),
            grace_period_seconds=options.get("gracePeriodSeconds"),
        )
        return respond(201, {**_SUCCESS, "code": 201})


def _check_eviction(body: Object, name: str) -> None:
    """Raise ApiError 400 for an eviction of another pod, or what is none."""
    stated = body.get("kind") or "Eviction"
    if stated != "Eviction":
        version = str(body.get("apiVersion") or "policy/v1").rpartition("/")[2]
        raise bad_request(f'{stated} in version "{version}" cannot be handled as a Eviction')
    if require_map(body, "metadata").get("name") not in (None, "", name):
        raise bad_request("name in URL does not match name in Eviction object")
