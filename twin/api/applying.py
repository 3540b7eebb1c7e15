"""What a client applies on the server's side: who says it, and what of it counts."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from twin.api.bodies import ClientObject, check_object
from twin.api.messages import Object, Request
from twin.api.schema import root_of
from twin.api.schema.checking import Check
from twin.api.typed_values import UNKNOWN, type_errors
from twin.api.write_rules import check_named, status_is_plain
from twin.errors import ApiError, bad_request, conflict, invalid
from twin.kinds import Kind


def read_application(
    kind: Kind, name: str, config: Any, request: Request, subresource: str
) -> tuple[str, ClientObject]:
    """Return who applies, and what; raises ApiError 400, 422 or 500."""
    manager = request.query.get("fieldManager", "")
    if not manager:
        why = [("fieldManager", "Required value: is required for apply patch")]
        raise invalid("PatchOptions", "meta.k8s.io", "", why)
    config = {} if config is None else config
    if not isinstance(config, dict):
        found = {list: "array", str: "string", bool: "bool"}.get(type(config), "number")
        wrong = f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        raise bad_request(
            f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {wrong}"
        )
    stated_version, stated_kind = config.get("apiVersion") or "", config.get("kind") or ""
    if (stated_version, stated_kind) != (kind.api_version, kind.kind):
        group, _, version = str(stated_version).rpartition("/")
        raise bad_request(f"invalid object type: {group}/{version}, Kind={stated_kind}")
    client_object = check_application(config, kind, request)
    metadata = client_object.obj.setdefault("metadata", {})
    metadata.setdefault("name", name)
    if metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    if subresource:
        only = ("apiVersion", "kind", "metadata", subresource)
        kept = {key: client_object.obj[key] for key in only if key in client_object.obj}
        client_object = replace(client_object, obj=kept)
    elif not status_is_plain(kind):
        client_object.obj.pop("status", None)
    return manager, client_object


def without_nulls(result: Object, kind: Kind) -> Object:
    """Return what an applied configuration made of an object, without what it left null or empty."""
    root = None if kind.custom is not None else root_of(kind.group, kind.version, kind.kind)
    if root is None:
        return result
    cleaned: Object = Check(kind.kind, kind.version).clean(result, root)
    return cleaned


def check_new(kind: Kind, name: str, config: Object, stated: Object) -> None:
    """Let a configuration make an object: its version does not count.

    Raises:
        ApiError: 400 where what the client stated has no name, 409 for a uid.
    """
    check_named(stated, name)
    metadata = config["metadata"]
    metadata.pop("resourceVersion", None)
    if metadata.get("uid"):
        why = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
        raise conflict(kind.resource, name, why, group=kind.group)


def check_application(config: Object, kind: Kind, request: Request) -> ClientObject:
    """Return an applied configuration; raises ApiError 500, as upstream, for one that does not fit its type."""
    metadata = config.get("metadata")
    head = metadata if isinstance(metadata, dict) else {}
    version = f"{kind.group}/{kind.version}, Kind={kind.kind}"
    what = f"{head.get('namespace') or ''}/{head.get('name') or ''}; {version}"
    root = None if kind.custom is not None else root_of(kind.group, kind.version, kind.kind)
    if root is not None and (wrong := type_errors(config, root)):
        raise _untyped(what, wrong)
    strict = replace(request, query={**request.query, "fieldValidation": "Strict"})
    try:
        return check_object(config, kind, strict)
    except ApiError as error:
        if error.status != 400:
            raise
        unknown = re.search(r'unknown field "([^"]*)"', error.message)
        if unknown is not None:
            raise _untyped(what, f".{unknown[1]}: {UNKNOWN}") from error
        if kind.custom is not None:
            raise
        why = error.message.partition("cannot be handled as a ")[2].partition(": ")[2]
        message = (
            f"failed to convert new object ({what}) to proper version: unable to convert unstructured object to "
            f"{version}: {why or error.message}"
        )
        raise ApiError(500, "", message) from error


def _untyped(what: str, wrong: str) -> ApiError:
    return ApiError(500, "", f"failed to create typed patch object ({what}): {wrong}")
