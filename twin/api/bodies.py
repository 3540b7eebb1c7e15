"""Bodies of requests: read, and refused before anything acts on a malformed one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from twin.api.messages import Object, Request
from twin.api.schema import Field, message, root_of
from twin.api.schema.checking import Check
from twin.api.schema.wire import CONTENT_TYPE as PROTOBUF
from twin.api.schema.wire import decode_object
from twin.errors import bad_request
from twin.kinds import Kind

VALIDATIONS = ("Strict", "Warn", "Ignore")
_META = Field("metadata", 0, "meta.v1.ObjectMeta")
_OPEN = Field("", 0, "Any", pointer=True)


@dataclass(frozen=True, slots=True)
class Given:
    """An object as a client gave it, in the form of its kind."""

    obj: Object
    warnings: tuple[str, ...] = ()
    """What the client should be told about it, one sentence each."""

    def headers(self) -> dict[str, str]:
        """Return the answer's headers."""
        if not self.warnings:
            return {}
        texts = [sentence.replace("\\", "\\\\").replace('"', '\\"') for sentence in self.warnings]
        return {"Warning": ", ".join(f'299 - "{text}"' for text in texts)}


def object_of(request: Request, kind: Kind) -> Given:
    """Read an object of a kind; raises ApiError 400 or 415."""
    twice: list[str] = []
    obj = json_of(request, twice)
    given = (obj.get("apiVersion", kind.api_version), obj.get("kind", kind.kind))
    if given != (kind.api_version, kind.kind):
        raise bad_request(
            f"the object provided is {given[0]} {given[1]}, this path serves {kind.api_version} {kind.kind}"
        )
    return checked(obj, kind, request, twice)


def checked(obj: Any, kind: Kind, request: Request, twice: list[str] | None = None) -> Given:
    """Return an object with every part of its kind's form; nulls and unknown fields are left out.

    Raises:
        ApiError: 400, a part has the wrong type, or `fieldValidation=Strict` and a field is unknown
            or given twice.
    """
    mode = request.query.get("fieldValidation") or "Warn"
    if mode not in VALIDATIONS:
        raise bad_request(f'invalid fieldValidation "{mode}": use Strict, Warn or Ignore')
    check = Check(kind.kind, kind.version)
    root = root_of(kind.group, kind.version, kind.kind)
    if root is None:
        for name in ("metadata", "spec", "status"):
            map_of(obj, name)
        cleaned = check.cleaned(obj, _OPEN)
        if "metadata" in cleaned:
            cleaned["metadata"] = check.cleaned(cleaned["metadata"], _META, "metadata")
    else:
        cleaned = check.cleaned(obj, root)
    found = [f'unknown field "{path}"' for path in check.unknown]
    found += [f'duplicate field "{name}"' for name in twice or ()]
    if found and mode == "Strict":
        raise bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
            f"strict decoding error: {', '.join(found)}"
        )
    return Given(cleaned, tuple(found) if mode == "Warn" else ())


def map_of(owner: Object, name: str) -> Object:
    """Return a part that must be an object; empty when absent. Raises ApiError 400."""
    value = owner.get(name)
    if value is not None and not isinstance(value, dict):
        raise bad_request(f"{name} must be an object")
    return value or {}


def whole_seconds(value: Any) -> int:
    """Read a number of seconds; raises ApiError 400."""
    if not (str(value).isascii() and str(value).isdecimal()):
        raise bad_request(f"{value!r} is not a whole number of seconds")
    return int(value)


def json_of(request: Request, twice: list[str] | None = None) -> Object:
    """Read a body in JSON, YAML or protobuf; raises ApiError 400 or 415.

    Names of members that stand twice in a JSON object are added to `twice`.
    """
    content_type = request.headers.get("content-type", "application/json")
    if content_type.startswith(PROTOBUF):
        return decode_object(request.body)

    def members(pairs: list[tuple[str, Any]]) -> Object:
        found = dict(pairs)
        if twice is not None and len(found) != len(pairs):
            names = [name for name, _ in pairs]
            twice.extend(name for name in found if names.count(name) > 1)
        return found

    try:
        content = (
            yaml.safe_load(request.body)
            if "yaml" in content_type
            else json.loads(request.body or b"{}", object_pairs_hook=members)
        )
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise bad_request(f"the body cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise bad_request("the body must be an object")
    return content


def delete_options(request: Request) -> Object:
    """Read the options of a delete, from the body or the query; raises ApiError 400."""
    given = json_of(request) if request.body else {}
    named = {"kind": "DeleteOptions", "apiVersion": "v1"}
    place = Field("", 0, message("meta.v1.DeleteOptions").name)
    options: Object = Check("DeleteOptions", "v1").cleaned({**given, **named}, place)
    for name in ("gracePeriodSeconds", "propagationPolicy"):
        if name in request.query:
            options.setdefault(name, request.query[name])
    if options.pop("orphanDependents", None) is True:
        options.setdefault("propagationPolicy", "Orphan")
    return options


def check_place(obj: Mapping[str, Any], namespace: str | None, name: str | None = None) -> None:
    """Raise ApiError 400 when object and path name different objects."""
    metadata = obj.get("metadata") or {}
    given = metadata.get("namespace")
    if given and namespace and given != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request: "
            f"{given}, {namespace}"
        )
    if name is not None and metadata.get("name") and metadata["name"] != name:
        raise bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        )
