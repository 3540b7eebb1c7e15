"""What a request is for: the resource that its path names, and what it does to it in the words of RBAC."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from twin.api.access import Attributes
from twin.api.messages import Request
from twin.errors import ApiError

_RESOURCE_PATH = re.compile(
    r"^/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/[a-z]))?/(?P<resource>[a-z][-a-z0-9]*)(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[a-z]+))?$"
)
_OLD_WATCH = re.compile(
    r"^(?P<root>/api/v1|/apis/[^/]+/[^/]+)/watch/"
    r"(?P<home>namespaces/[^/]+/(?=[a-z]))?(?P<resource>[a-z][-a-z0-9]*)(?:/(?P<name>[^/]+))?/?$"
)
_OF_NAMESPACES = frozenset({"status", "finalize"})
_ONE_NAME = re.compile(r"(?:^|,)metadata\.name==?([^,=!\\]+)(?:,|$)")
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


@dataclass(frozen=True, slots=True)
class Target:
    """A request for a resource."""

    attributes: Attributes
    namespace: str | None
    """The namespace in the path; None for all of them."""
    version: str
    selected: Attributes
    """The same with the one name that a field selector picks."""


def read_path(path: str) -> re.Match[str] | None:
    """Return the parts of a resource's path: core or group and version, namespace, resource, name, subresource."""
    return _RESOURCE_PATH.match(path)


def of_old_watch(request: Request) -> Request:
    """Return a request by a path of watches alone, which clients had before `watch=true`, as one by that."""
    match = _OLD_WATCH.match(request.path)
    if match is None:
        return request
    if request.method != "GET":
        message = "the server does not allow this method on the requested resource"
        raise ApiError(405, "MethodNotAllowed", message, {})
    query = {**request.query, "watch": "true"}
    if match["name"]:
        query["fieldSelector"] = f"metadata.name={match['name']}"
    return replace(
        request, path=f"{match['root']}/{match['home'] or ''}{match['resource']}", query=query
    )


def read_target(path: str, request: Request) -> Target | None:
    """Return what a request with this path is for; None when the path is no resource."""
    match = read_path(path)
    if match is None:
        return None
    namespace, resource, name = match["namespace"], match["resource"], match["name"] or ""
    group, subresource = match["group"] or "", match["subresource"] or ""
    if namespace and not name and resource in _OF_NAMESPACES:
        namespace, resource, name, subresource = None, "namespaces", namespace, resource
    # A namespace is inside itself, as a real server sees it.
    home = name if (group, resource) == ("", "namespaces") else namespace or ""
    attributes = Attributes(_verb(request, name), group, resource, subresource, home, name)
    version = match["core"] or match["version"]
    return Target(attributes, namespace, version, _with_selected_name(attributes, request))


def _with_selected_name(attributes: Attributes, request: Request) -> Attributes:
    """Return a request for a collection with the one name that its field selector picks."""
    if attributes.name or "fieldSelector" not in request.query:
        return attributes
    picked = _ONE_NAME.search(request.query["fieldSelector"])
    return attributes if picked is None else replace(attributes, name=picked[1])


def _verb(request: Request, name: str) -> str:
    """Return what a request does in the words of RBAC."""
    if request.method in ("GET", "HEAD"):
        if name:  # of one object `watch` is no word of the API
            return "get"
        return "watch" if request.flag("watch") else "list"
    if request.method == "DELETE":
        return "delete" if name else "deletecollection"
    return _VERBS.get(request.method, request.method.lower())
