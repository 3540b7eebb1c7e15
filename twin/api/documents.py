"""Answers about the server itself: version, health, discovery, OpenAPI."""

from __future__ import annotations

import re
from collections.abc import Sequence

from twin.api import discovery, openapi
from twin.api.access import Requester
from twin.api.health import CHECKS, health, health_paths
from twin.api.messages import JSON, Request, Response, respond
from twin.api.objects import method_not_allowed
from twin.errors import ApiError
from twin.kinds import Kind

_AGGREGATED = re.compile(r"as=APIGroupDiscoveryList")
_VERSION = re.compile(r"\bv=(v2beta1|v2)\b")
V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def document(
    path: str, request: Request, requester: Requester, custom: Sequence[Kind] = ()
) -> Response | None:
    """Answer a request about the server; None when the path is none of these.

    Raises:
        ApiError: 403 for who may not read it, 405 for another method than GET.
    """
    response = _document(path, request, custom)
    if response is None:
        return None
    requester.require_path(request.method, request.path)
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    return response


def _document(path: str, request: Request, custom: Sequence[Kind]) -> Response | None:
    accept = request.headers.get("accept", "")
    parts = path.strip("/").split("/")
    if parts[0] in CHECKS:
        return health(parts[0], "/".join(parts[1:]), request)
    match parts:
        case ["version"]:
            return respond(200, discovery.VERSION)
        case ["api" | "apis" as root]:
            return _groups(root, request, custom)
        case ["api", "v1"]:
            return respond(200, discovery.resource_list("", "v1"))
        case ["apis", group]:
            content = discovery.api_group(group, custom)
            return None if content is None else respond(200, content)
        case ["apis", group, version] if (group, version) in discovery.group_versions(custom):
            return respond(200, discovery.resource_list(group, version, custom))
        case ["openapi", "v2"]:
            return _openapi_v2(accept, custom)
        case ["openapi", "v3"]:
            return respond(200, openapi.index(custom))
        case ["openapi", "v3", "api", "v1"]:
            return Response(200, openapi.document_v3("", "v1"))
        case ["openapi", "v3", "apis", group, version] if (
            group,
            version,
        ) in discovery.group_versions(custom):
            return Response(200, openapi.document_v3(group, version, custom))
        case [""]:
            return respond(200, {"paths": _paths(custom)})
    return None


def _paths(custom: Sequence[Kind]) -> list[str]:
    """Return what there is to read besides objects."""
    pairs = discovery.group_versions(custom)
    of_groups = dict.fromkeys(f"/apis/{group}" for group, _ in pairs)
    of_versions = [f"/apis/{group}/{version}" for group, version in pairs]
    others = ("/.well-known/openid-configuration", "/api", "/api/v1", "/apis", "/apis/", "/metrics",
              "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openid/v1/jwks", "/version")  # fmt: skip
    return sorted([*others, *of_groups, *of_versions, *health_paths()])


def _groups(root: str, request: Request, custom: Sequence[Kind]) -> Response:
    """Answer in the first supported form that the client accepts."""
    for part in request.headers.get("accept", "").split(","):
        version = _VERSION.search(part)
        if not _AGGREGATED.search(part) or version is None:
            if part.strip() == JSON:
                break
            continue
        groups = [("", "v1")] if root == "api" else discovery.group_versions(custom)
        kind = f"{JSON};g=apidiscovery.k8s.io;v={version[1]};as=APIGroupDiscoveryList"
        body = respond(200, discovery.aggregated_document(groups, version[1], custom)).body
        return Response(200, body, kind)
    if root == "api":
        return respond(200, discovery.api_versions(request.headers.get("host", "")))
    return respond(200, discovery.api_groups(custom))


def _openapi_v2(accept: str, custom: Sequence[Kind]) -> Response:
    """Answer in JSON; who reads protobuf alone gets an empty document, which old kubectl accepts."""
    if "protobuf" in accept and JSON not in accept:
        return Response(200, b"", V2_PROTOBUF)
    if accept and JSON not in accept and "*/*" not in accept:
        raise ApiError(406, "NotAcceptable", "only application/json is served here")
    return Response(200, openapi.document_v2(custom))
