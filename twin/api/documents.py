"""Answers about the server itself: version, health, discovery, OpenAPI."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from twin.api import discovery
from twin.api.access import Requester
from twin.api.health import CHECKS, health, health_paths
from twin.api.messages import JSON, Request, Response, respond
from twin.api.negotiation import PROTOBUF, Offer, accepted, require_acceptable
from twin.api.objects import method_not_allowed
from twin.api.openapi_pages import index_v3, page_v3, tagged
from twin.kinds import Kind

_AGGREGATED = re.compile(r"as=APIGroupDiscoveryList")
_VERSION = re.compile(r"\bv=(v2beta1|v2)\b")


@dataclass(frozen=True, slots=True)
class _Page:
    """A page that is there."""

    make: Callable[[], Response]
    offer: Offer | None = None
    """What it is offered as; None: it looks itself at what is accepted."""


def document(
    path: str,
    request: Request,
    requester: Requester,
    custom: Sequence[Kind],
    now: float,
) -> Response | None:
    """Answer a request about the server; None when the path is none of these. `now` is cluster time.

    Raises:
        ApiError: 403 for who may not read it, 405 for another method than GET, 406 for forms that it
            does not have.
    """
    page = _page(path, request, custom, now)
    if page is None:
        return None
    requester.require_path(request.method, request.path)
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    if page.offer is not None:
        require_acceptable(request.headers.get("accept", ""), page.offer)
    return page.make()


def _page(
    path: str,
    request: Request,
    custom: Sequence[Kind],
    now: float,
) -> _Page | None:
    parts = path.strip("/").split("/")
    if parts[0] in CHECKS:
        return _Page(lambda: health(parts[0], "/".join(parts[1:]), request))
    match parts:
        case ["version"]:
            return _Page(lambda: respond(200, discovery.VERSION), "json")
        case ["api" | "apis" as root]:
            return _groups(root, request, custom)
        case ["api", "v1"]:
            return _Page(lambda: respond(200, discovery.resource_list("", "v1")), "resources")
        case ["apis", group]:
            content = discovery.api_group(group, custom)
            return None if content is None else _Page(lambda: respond(200, content), "groups")
        case ["apis", group, version] if (group, version) in discovery.group_versions(custom):
            resources = discovery.resource_list(group, version, custom)
            return _Page(lambda: respond(200, resources), "resources")
        case ["openapi", "v3"]:
            return _Page(lambda: index_v3(custom))
        case ["openapi", "v3", "api", "v1"]:
            return _Page(lambda: page_v3("", "v1", custom, request, now))
        case ["openapi", "v3", "apis", group, version] if (
            group,
            version,
        ) in discovery.group_versions(custom):
            return _Page(lambda: page_v3(group, version, custom, request, now))
        case [""]:
            return _Page(lambda: respond(200, {"paths": _paths(custom)}))
    return None


def _paths(custom: Sequence[Kind]) -> list[str]:
    """Return what there is to read besides objects."""
    pairs = discovery.group_versions(custom)
    of_groups = dict.fromkeys(f"/apis/{group}" for group, _ in pairs)
    of_versions = [f"/apis/{group}/{version}" for group, version in pairs]
    others = ("/.well-known/openid-configuration", "/api", "/api/v1", "/apis", "/apis/", "/metrics",
              "/openapi/v3", "/openapi/v3/", "/openid/v1/jwks", "/version")  # fmt: skip
    return sorted([*others, *of_groups, *of_versions, *health_paths()])


def _groups(root: str, request: Request, custom: Sequence[Kind]) -> _Page:
    """Return the list of groups in the first form that the client accepts: aggregated, or one by one."""
    for media, form in accepted(request.headers.get("accept", "")):
        version = _VERSION.search(form)
        if media in (JSON, PROTOBUF) and _AGGREGATED.search(form) and version is not None:
            return _aggregated(root, version[1], request, custom)
        if media == JSON and not form:
            break
    if root == "apis":
        return _Page(lambda: respond(200, discovery.api_groups(custom)), "groups")
    address = request.headers.get("host", "")
    return _Page(lambda: respond(200, discovery.api_versions(address)), "resources")


def _aggregated(
    root: str,
    version: str,
    request: Request,
    custom: Sequence[Kind],
) -> _Page:
    def make() -> Response:
        groups = [("", "v1")] if root == "api" else discovery.group_versions(custom)
        kind = f"{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
        content = discovery.aggregated_document(groups, version, custom)
        return tagged(Response(200, respond(200, content).body, kind), request)

    return _Page(make)
