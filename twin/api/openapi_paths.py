"""The paths of an OpenAPI document: what discovery lists, with what clients look for in each operation.

kubectl and code generators go by `x-kubernetes-group-version-kind`, `x-kubernetes-action`, names of
operations and of query parameters. Source: kubernetes/kubernetes api/openapi-spec (names at 1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from twin.api import discovery
from twin.api.patching import APPLY, JSON_PATCH, MERGE, STRATEGIC
from twin.kinds import Kind

Object = dict[str, Any]
Refer = Callable[[str, str, str], Object | None]
"""Returns the schema of a group, version and kind; None where there is none."""
_WRITING = ("dryRun", "fieldManager", "fieldValidation")
_LISTING = ("allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
            "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch")  # fmt: skip
_DELETING = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_NUMBERS = frozenset({"gracePeriodSeconds", "limit", "timeoutSeconds"})
_TRUTHS = frozenset({"allowWatchBookmarks", "force", "orphanDependents", "sendInitialEvents", "watch"})  # fmt: skip
_CONNECTED = frozenset({"attach", "exec", "portforward", "proxy"})
_OPERATIONS = {
    "list": ("get", "list", _LISTING),
    "create": ("post", "create", _WRITING),
    "deletecollection": ("delete", "delete", (*_DELETING, *_LISTING[1:-1])),
    "get": ("get", "read", ()),
    "update": ("put", "replace", _WRITING),
    "patch": ("patch", "patch", (*_WRITING, "force")),
    "delete": ("delete", "delete", _DELETING),
}
"""By verb: method, how the operation's name begins, query parameters."""
_OF_COLLECTIONS = ("list", "create", "deletecollection")
_ACTIONS = {"create": "post", "update": "put"}


def paths_of(group: str, version: str, custom: tuple[Kind, ...], refer: Refer) -> Object:
    """Return the paths of a group and version, each with its operations."""
    prefix = f"/apis/{group}/{version}" if group else f"/api/{version}"
    paths: Object = {}
    resources = discovery.resource_list(group, version, custom)["resources"]
    own = {kind.plural for kind in custom}
    kinds = {entry["name"]: entry["kind"] for entry in resources}
    for entry in resources:
        plural, _, part = entry["name"].partition("/")
        if part and plural not in kinds:
            continue  # a metric of objects that another group serves
        patches = (JSON_PATCH, MERGE, *(() if plural in own else (STRATEGIC,)), APPLY)
        of = _Resource((group, version), entry, kinds[plural], patches, refer)
        for where, method, operation in of.operations():
            paths.setdefault(f"{prefix}{where}", {})[method] = operation
    return dict(sorted(paths.items()))


class _Resource:
    """A resource or a part of one."""

    def __init__(
        self,
        place: tuple[str, str],
        entry: Object,
        owner: str,
        patches: tuple[str, ...],
        refer: Refer,
    ) -> None:
        """Describe an entry of discovery in a group and version; `owner` is the kind whose part it is."""
        group, version = place
        self._entry, self._owner, self._patches, self._refer = entry, owner, patches, refer
        self._plural, _, self._part = str(entry["name"]).partition("/")
        self._gvk = {
            "group": entry.get("group", group),
            "version": entry.get("version", version),
            "kind": entry["kind"],
        }
        words = [*group.removesuffix(".k8s.io").split("."), version] if group else ["core", version]
        self._place = "".join(_capital(word) for word in words)

    def operations(self) -> Iterator[tuple[str, str, Object]]:
        """Yield the path below the version's, the method and the operation of each verb."""
        home = "/namespaces/{namespace}" if self._entry["namespaced"] else ""
        verbs = [verb for verb in self._entry["verbs"] if verb in _OPERATIONS]
        for verb in verbs:
            where = f"{home}/{self._plural}"
            if self._part or verb not in _OF_COLLECTIONS:
                where += "/{name}" + (f"/{self._part}" if self._part else "")
            method = _OPERATIONS[verb][0]
            yield where, method, self._operation(verb)
            if verb == "list" and home:
                yield f"/{self._plural}", method, self._operation(verb, everywhere=True)

    def _operation(self, verb: str, *, everywhere: bool = False) -> Object:
        method, _, names = _OPERATIONS[verb]
        kind = self._gvk["kind"]
        answered = f"{kind}List" if verb == "list" else "Status" if method == "delete" else kind
        operation: Object = {
            "operationId": self._name(verb, everywhere=everywhere),
            "parameters": [_parameter(name) for name in names],
            "responses": {"200": {"description": "OK", **self._content(answered)}},
            "x-kubernetes-action": "connect"
            if self._part in _CONNECTED
            else _ACTIONS.get(verb, verb),
            "x-kubernetes-group-version-kind": self._gvk,
        }
        if verb in ("create", "update"):
            operation["requestBody"] = self._content(kind)
        elif method == "delete":
            operation["requestBody"] = self._content("DeleteOptions")
        elif verb == "patch":
            kinds = {media: {"schema": {"type": "object"}} for media in self._patches}
            operation["requestBody"] = {"content": kinds, "required": True}
        return operation

    def _content(self, kind: str) -> Object:
        """Return what a body is, where there is a schema of it."""
        schema = self._refer(self._gvk["group"], self._gvk["version"], kind)
        return {"content": {} if schema is None else {"application/json": {"schema": schema}}}

    def _name(self, verb: str, *, everywhere: bool) -> str:
        inside = "Namespaced" if self._entry["namespaced"] and not everywhere else ""
        what = f"{inside}{self._owner}{_capital(self._part)}"
        method, begin, _ = _OPERATIONS[verb]
        if self._part in _CONNECTED:
            return f"connect{self._place}{_capital(method)}{what}"
        if verb == "deletecollection":
            return f"{begin}{self._place}Collection{what}"
        return f"{begin}{self._place}{what}{'ForAllNamespaces' if everywhere else ''}"


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def _parameter(name: str) -> Object:
    kind = "integer" if name in _NUMBERS else "boolean" if name in _TRUTHS else "string"
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}
