"""Bodies of requests: read, and refused before anything acts on a malformed one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

import yaml

from twin.admission import vertical
from twin.admission.structural import prune
from twin.api.custom_bodies import check_type, clean_custom, clean_definition
from twin.api.go_json import header_error, unrecognized
from twin.api.limits import MOST_DEFINED_VALUES, MOST_VALUES, read_json, read_yaml
from twin.api.messages import JSON, Object, Request, Response, options_of
from twin.api.schema import Field, message, root_of
from twin.api.schema.checking import Check
from twin.api.schema.wire import CONTENT_TYPE as PROTOBUF
from twin.api.schema.wire import decode_object
from twin.definitions.registry import DEFINITIONS
from twin.errors import ApiError, bad_request, invalid
from twin.kinds import KINDS, Kind

T = TypeVar("T")
YAML = "application/yaml"
APPLY = "application/apply-patch+yaml"
POLICIES = (None, "Foreground", "Background", "Orphan")
WARNING_CHARACTERS = 4_096
"""Of all warnings together, as on a real server; each is cut at 256."""
VALIDATIONS = ("Strict", "Warn", "Ignore")
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
_OPTIONS_SCHEME = "pkg/apis/meta/internalversion/scheme/register.go:27"
_META = Field("metadata", 0, "meta.v1.ObjectMeta")
_OPEN = Field("", 0, "Any", pointer=True)
_STRUCTURAL = {"verticalpodautoscalers": vertical.SPEC}
"""Schemas of the `spec` of custom resources."""


@dataclass(frozen=True, slots=True)
class ClientObject:
    """An object as a client gave it, in the form of its kind."""

    obj: Object
    warnings: tuple[str, ...] = ()
    """Warnings for the client, one sentence each."""

    def headers(self) -> dict[str, str]:
        """Return the answer's headers."""
        if not self.warnings:
            return {}
        warnings, room = [], WARNING_CHARACTERS
        for sentence in self.warnings:
            text = "".join(each if each.isprintable() else "?" for each in sentence[:256])
            text = text.replace("\\", "\\\\").replace('"', '\\"')
            room -= len(text)
            if room < 0:
                break
            warnings.append(f'299 - "{text}"')
        return {"Warning": ", ".join(warnings)}


def with_warning(answer: T, sentence: str) -> T:
    """Return an answer that warns of a deprecated version, before anything else that it warns of."""
    if not isinstance(answer, Response):
        return answer
    headers = ClientObject({}, (sentence,)).headers()
    earlier = answer.headers.get("Warning")
    joined = ", ".join(filter(None, (headers["Warning"], earlier)))
    return replace(answer, headers={**answer.headers, "Warning": joined})


@contextmanager
def warning_all_the_same(found: ClientObject) -> Iterator[None]:
    """Let a refusal carry the warnings of what was read."""
    try:
        yield
    except ApiError as error:
        error.headers.update(found.headers())
        raise


def read_object(request: Request, kind: Kind) -> ClientObject:
    """Read an object of a kind; raises ApiError 400 or 415."""
    twice: list[str] = []
    obj = read_body(request, twice, kind=kind.kind, values=most_values(kind))
    if kind.custom is not None:
        check_type(obj, kind)
    check_stated_type(obj, kind, request.body)
    for name in ("apiVersion", "kind"):
        if obj.get(name) == "":
            del obj[name]
    return check_object(obj, kind, request, twice)


def check_stated_type(obj: Any, kind: Kind, body: bytes = b"") -> None:
    """Raise ApiError 400 for an object that says to be of another kind or version; `body` is how it was sent."""
    obj = require_object(obj)
    version, name = obj.get("apiVersion") or kind.api_version, obj.get("kind") or kind.kind
    if (version, name) == (kind.api_version, kind.kind):
        return
    version = str(version)
    if version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version}"
        raise bad_request(unrecognized(body, kind.kind, why))
    bare = version.rpartition("/")[2]
    if (version, name) in _registered():
        package = (kind.group or "core").partition(".")[0]
        why = f"converting ({bare}.{name}) to ({package}.{kind.kind}): unknown conversion"
    else:
        why = f'no kind "{name}" is registered for version "{version}" in scheme "{_SCHEME}"'
    raise bad_request(f'{name} in version "{bare}" cannot be handled as a {kind.kind}: {why}')


@cache
def _registered() -> frozenset[tuple[str, str]]:
    """Return versions and kinds that a real server knows, and their lists."""
    kinds = [
        (kind.api_version, name) for kind in KINDS.values() for name in (kind.kind, kind.list_kind)
    ]
    return frozenset(kinds)


def check_object(
    obj: Any, kind: Kind, request: Request, twice: list[str] | None = None
) -> ClientObject:
    """Return an object with every part of its kind's form; nulls and unknown fields are left out.

    Raises:
        ApiError: 400, a part has the wrong type, or `fieldValidation=Strict` and a field is unknown
            or given twice.
    """
    mode = request.query.get("fieldValidation") or "Warn"
    if mode not in VALIDATIONS:
        words = ", ".join(f'"{word}"' for word in ("", *sorted(VALIDATIONS)))
        why = ("fieldValidation", f'Unsupported value: "{mode}": supported values: {words}')
        raise invalid(options_of(request.method), "meta.k8s.io", "", [why])
    applies = request.headers.get("content-type", "").startswith(APPLY)
    check = Check(kind.kind, kind.version, applied=applies)
    root = root_of(kind.group, kind.version, kind.kind)
    if kind.custom is not None:
        cleaned = clean_custom(require_object(obj), kind, check)
    elif root is None:
        for name in ("metadata", "spec", "status"):
            require_map(obj, name)
        cleaned = check.clean(obj, _OPEN)
        if "metadata" in cleaned:
            cleaned["metadata"] = check.clean(cleaned["metadata"], _META, "metadata")
        if kind.resource in _STRUCTURAL and "spec" in cleaned:
            check.unknown += prune(cleaned["spec"], _STRUCTURAL[kind.resource], "spec")
    else:
        cleaned = check.clean(obj, root)
        if kind.resource == DEFINITIONS:
            clean_definition(cleaned, check)
    warnings = [f'duplicate field "{name}"' for name in twice or ()]
    warnings += [f'unknown field "{path}"' for path in check.unknown]
    if warnings and mode == "Strict":
        raise bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
            f"strict decoding error: {', '.join(warnings)}"
        )
    return ClientObject(cleaned, tuple(warnings) if mode == "Warn" else ())


def most_values(kind: Kind) -> int:
    """Return how many values a body may hold: definitions hold whole schemas."""
    return MOST_DEFINED_VALUES if kind.resource == DEFINITIONS else MOST_VALUES


def require_object(obj: Any) -> Object:
    """Return what has to be an object; raises ApiError 400."""
    if not isinstance(obj, dict):
        raise bad_request("the body must be an object")
    return obj


def require_map(owner: Object, name: str) -> Object:
    """Return a part that must be an object; empty when absent. Raises ApiError 400."""
    value = owner.get(name)
    if value is not None and not isinstance(value, dict):
        raise bad_request(f"{name} must be an object")
    return value or {}


def whole_seconds(value: Any) -> int:
    """Read a number of seconds; raises ApiError 400."""
    if not re.fullmatch(r"-?[0-9]{1,18}", str(value)):
        raise bad_request(f"{value!r} is not a whole number of seconds")
    return int(value)


def read_body(
    request: Request, twice: list[str] | None = None, *, kind: str = "", values: int = MOST_VALUES
) -> Object:
    """Read a body in JSON, YAML or protobuf, of an object of a kind; raises ApiError 400, 413 or 415.

    Names of members that occur twice in a JSON object are added to `twice`.
    """
    if request.fault is not None:
        raise request.fault
    media = request.headers.get("content-type", JSON).partition(";")[0].strip()
    if media == PROTOBUF:
        return decode_object(request.body)
    if media not in {JSON, YAML, ""}:
        message = (
            "the body of the request was in an unknown format - accepted media types include: "
            f"{JSON}, {YAML}, {PROTOBUF}"
        )
        raise ApiError(415, "UnsupportedMediaType", message)

    found: list[str] = []

    def members(pairs: list[tuple[str, Any]]) -> Object:
        content = dict(pairs)
        if len(content) != len(pairs):
            times = Counter(name for name, _ in pairs)
            found.extend(name for name in content if times[name] > 1)
            return Repeated(content, {name for name in content if times[name] > 1})
        return content

    readable = True
    try:
        how: dict[str, Any] = {"object_pairs_hook": members, "values": values}
        content = (
            read_yaml(request.body, values=values)
            if media == YAML
            else read_json(request.body, **how)
        )
    except yaml.YAMLError as error:
        raise bad_request(f"the body cannot be read: {error}") from error
    except (ValueError, RecursionError):
        content, readable = None, False
    if content is None and readable and request.body:
        return {}
    why = header_error(request.body, content, readable=readable)
    if why:
        raise bad_request(unrecognized(request.body, kind, why) if kind else why)
    assert isinstance(content, dict)
    if found and twice is not None:
        twice.extend(_paths_of(content, ""))
        return require_object(read_json(request.body, values=values))
    return content


class Repeated(dict[str, Any]):
    """An object whose text has some members twice; the later ones count."""

    def __init__(self, content: Object, twice: Collection[str]) -> None:
        """Keep the names of those that are there `twice`."""
        super().__init__(content)
        self.twice = twice


def _paths_of(value: Any, path: str) -> Iterator[str]:
    """Yield the paths of members that are given twice, in order."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _paths_of(each, f"{path}[{index}]")
    elif isinstance(value, dict):
        names = value.twice if isinstance(value, Repeated) else ()
        for name, each in value.items():
            inner = f"{path}.{name}" if path else name
            if name in names:
                yield inner
            yield from _paths_of(each, inner)


def delete_options(request: Request) -> Object:
    """Read the options of a delete: of the body, or of the query where there is no body; raises
    ApiError 400.
    """
    body = read_body(request) if request.body else {}
    if body.get("kind", "DeleteOptions") not in ("", "DeleteOptions"):
        version = body.get("apiVersion") or "v1"
        raise bad_request(
            f'no kind "{body["kind"]}" is registered for version "{version}" in scheme "{_OPTIONS_SCHEME}"'
        )
    named = {"kind": "DeleteOptions", "apiVersion": "v1"}
    place = Field("", 0, message("meta.v1.DeleteOptions").name)
    try:
        options: Object = Check("DeleteOptions", "v1").clean({**body, **named}, place)
    except ApiError as error:
        why = error.message.rpartition("cannot be handled as a DeleteOptions: ")[2]
        raise bad_request(why) from error
    for name in ("gracePeriodSeconds", "propagationPolicy", "orphanDependents"):
        if name in request.query and not request.body:
            options[name] = request.query[name]
    check_options(options)
    return options


def check_options(options: Object) -> None:
    """Check options of a deletion and leave one word for what becomes of dependents; raises ApiError 422."""
    policy, orphan = options.get("propagationPolicy"), options.pop("orphanDependents", None)
    if policy is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        raise _bad_options(f'Invalid value: "{policy}": {why}')
    if policy not in POLICIES:
        words = '"Foreground", "Background", "Orphan", "nil"'
        raise _bad_options(f'Unsupported value: "{policy}": supported values: {words}')
    if orphan is not None:
        dropped = orphan in (False, "false", "False", "0")
        options["propagationPolicy"] = "Background" if dropped else "Orphan"


def _bad_options(sentence: str) -> ApiError:
    return invalid("DeleteOptions", "meta.k8s.io", "", [("propagationPolicy", sentence)])


def check_place(obj: Mapping[str, Any], namespace: str | None, name: str | None = None) -> None:
    """Raise ApiError 400 when object and path name different objects."""
    metadata = obj.get("metadata") or {}
    stated_namespace = metadata.get("namespace")
    if stated_namespace and namespace and stated_namespace != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if name is not None and metadata.get("name") and metadata["name"] != name:
        raise bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        )
