"""Limits on what a client may send, checked before anything is parsed.

Problem: one thread serves all clients, so a body that takes a second to read stops all other clients
for that second, and a few hundred bytes of nested aliases can expand to gigabytes. Guarantee: what
passes here is read, checked and stored in well under 100 ms; the checks themselves are linear in the
size of the body and run at the speed of C.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import yaml

from twin.api.messages import Request, json_bytes
from twin.errors import ApiError, bad_request, invalid

LARGEST_BODY = 3 << 20
"""Bytes of a body; a real server takes as many."""
LARGEST_YAML = 512 << 10
"""Bytes of a body in YAML, which takes longer to read. kubectl sends JSON, even where it says YAML."""
LARGEST_OBJECT = 3 << 19
"""Bytes of an object as it is stored: etcd's 1.5 MiB."""
MOST_VALUES = 2_000
"""Objects, lists and plain values in one body: each costs some ten microseconds to check and own."""
MOST_DEFINED_VALUES = 16_000
"""The same in a CustomResourceDefinition, whose schemas are checked at about two microseconds a value."""
MOST_PATCH_VALUES = 10_000
"""The same in a JSON patch, whose steps cost less; with four a step, 2,500 steps."""
MOST_STORED_VALUES = 3_000
"""The same in a stored object without its managedFields, however many writes have filled it."""
MOST_OWNED_VALUES = 5_000
"""The same in its managedFields."""
DEEPEST = 64
"""Objects and lists within one another."""
LONGEST_NUMBER = 64
"""Characters of a number; long ones take quadratic time to read."""
LONGEST_URL = 32 << 10
"""Characters of path and query together."""
MOST_PARAMETERS = 64
"""Parameters of a query."""
LONGEST_MANAGER = 128
"""Characters of a fieldManager, as on a real server."""
_MANY_DIGITS = re.compile(rb"[0-9.eE+-]{%d}" % (LONGEST_NUMBER + 1))
_NUMBER = re.compile(r"[-+]?[.0-9][-+0-9_:.a-fA-FxXoO]*")
_DIRECTIVE = re.compile("(?:^\ufeff?|[\r\n\x85\u2028\u2029])%")
_TAGS = frozenset({None, "!", *(f"tag:yaml.org,2002:{name}" for name in ("str", "map", "seq"))})
_OPTIONS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}


def too_large(what: str) -> ApiError:
    """413 of a request that goes beyond a limit."""
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: {what}")


def check_request(request: Request) -> None:
    """Check everything of a request but what its body says; raises ApiError 413, 414 or 422."""
    if len(request.body) > LARGEST_BODY:
        raise too_large(f"limit is {LARGEST_BODY}")
    length = len(request.path) + sum(len(k) + len(v) + 2 for k, v in request.query.items())
    if length > LONGEST_URL or len(request.query) > MOST_PARAMETERS:
        raise uri_too_long()
    manager = request.query.get("fieldManager", "")
    why = ""
    if len(manager.encode("utf-8", "replace")) > LONGEST_MANAGER:
        why = f"Too long: may not be more than {LONGEST_MANAGER} bytes"
    else:
        odd = next(
            (at for at, character in enumerate(manager) if not character.isprintable()), None
        )
        if odd is not None:
            where = f"invalid character U+{ord(manager[odd]):04X} (at position {odd})"
            why = f"Invalid value: {json.dumps(manager)}: {where}"
    if why and request.method in _OPTIONS:
        raise invalid(_OPTIONS[request.method], "meta.k8s.io", "", [("fieldManager", why)])


def uri_too_long() -> ApiError:
    """414 of a path and query that are too long."""
    limits = f"at most {LONGEST_URL} characters and {MOST_PARAMETERS} parameters are read"
    return ApiError(414, "RequestURITooLong", f"the URL of the request is too long: {limits}")


def check_json(text: bytes, *, values: int = MOST_VALUES, deepest: int = DEEPEST) -> None:
    """Check how much a JSON text holds, without reading it; malformed ones may pass.

    Brackets and commas outside of strings are counted, so a text that a parser gets through holds no
    more than what is counted here.

    Raises:
        ApiError: 413 for too many values, 400 for too many levels or a number that is too long.
    """
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if bare.count(b'"') > 4 * values:
        raise _too_many(values)
    outside = b'"'.join(bare.split(b'"')[::2])
    if outside.count(b",") + outside.count(b"[") + outside.count(b"{") > values:
        raise _too_many(values)
    brackets = re.sub(rb"[^][{}]+", b"", outside)
    steps = (1 if bracket in b"[{" else -1 for bracket in brackets)
    if max(accumulate(steps), default=0) > deepest:
        raise _too_deep(deepest)
    if _MANY_DIGITS.search(outside):
        raise _long_number()


def check_stored(obj: Mapping[str, Any], *, values: int = MOST_STORED_VALUES) -> None:
    """Check what an object has become, just before it is stored; raises ApiError 413."""
    metadata = dict(obj.get("metadata") or {})
    managed = json_bytes(metadata.pop("managedFields", None))
    rest = json_bytes({**obj, "metadata": metadata})
    if len(managed) + len(rest) > LARGEST_OBJECT:
        raise too_large(f"an object is stored in at most {LARGEST_OBJECT} bytes")
    check_json(rest, values=values, deepest=2 * DEEPEST)
    check_json(managed, values=MOST_OWNED_VALUES, deepest=2 * DEEPEST)


def read_json(body: bytes, *, values: int = MOST_VALUES, **how: Any) -> Any:
    """Read JSON within the limits; `how` goes to `json.loads`. Raises ApiError 400 or 413, ValueError.

    Bytes that are no UTF-8 count as U+FFFD, as in Go.
    """
    check_json(body, values=values)
    text = body.decode("utf-8", "replace")
    content = json.loads(text, **{"parse_constant": _refuse_constant, **how})
    if b"\\u" in body:
        try:
            json.dumps(content, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise bad_request(f"the body cannot be read: {error}") from error
    return content


def read_yaml(body: bytes, *, values: int = MOST_VALUES) -> Any:
    """Read YAML within the limits, as JSON has it: a date stays a text, and keys are texts.

    Raises:
        ApiError: 400 or 413, it goes beyond a limit.
        ValueError: it holds what JSON cannot hold.
        yaml.YAMLError: it is no YAML.
    """
    if body.lstrip().startswith(b"{"):
        try:
            return read_json(body, values=values)
        except ValueError:
            pass  # a flow mapping
    if len(body) > LARGEST_YAML:
        raise too_large(f"limit is {LARGEST_YAML} for YAML; JSON may have {LARGEST_BODY}")
    text = body.decode("utf-8")
    if _DIRECTIVE.search(text):  # libyaml takes quadratic time for them
        raise bad_request("the body cannot be read: YAML directives (%) are not accepted")
    _check_events(text, values)
    content = yaml.load(text, Loader=_JsonTypes)  # noqa: S506 - a safe loader without dates
    try:
        plain = json.dumps(content, allow_nan=False)
    except TypeError as error:
        raise ValueError(str(error)) from error
    plain.encode()  # raises for halves of characters
    return json.loads(plain)


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number in JSON")


def _check_events(text: str, values: int) -> None:
    """Check what a YAML text stands for: each alias counts as much as what it repeats."""
    count = 0
    opened: list[tuple[str | None, int]] = []
    sizes: dict[str, int] = {}
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent):
            size = sizes.get(str(event.anchor))
            if size is None:
                raise bad_request(
                    f"the body cannot be read: no anchor {str(event.anchor)[:64]!r} ends before"
                )
            count += size
        elif isinstance(event, yaml.ScalarEvent):
            _check_scalar(event)
            count += 1
            if event.anchor:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            _check_tag(event.tag)
            opened.append((event.anchor, count))
            count += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor:
                sizes[anchor] = count - before
        if count > 2 * values:  # keys are scalars, too
            raise _too_many(values)
        if len(opened) > DEEPEST:
            raise _too_deep(DEEPEST)


def _check_scalar(event: yaml.ScalarEvent) -> None:
    _check_tag(event.tag)
    plain = event.implicit[0]
    if plain and len(event.value) > LONGEST_NUMBER and _NUMBER.fullmatch(event.value):
        raise _long_number()


def _check_tag(tag: str | None) -> None:
    if tag not in _TAGS:
        raise bad_request(
            f"the body cannot be read: the YAML tag {str(tag)[:64]!r} is not accepted"
        )


class _JsonTypes(yaml.CSafeLoader):
    """Reads texts, numbers, booleans and nulls only."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _too_many(values: int) -> ApiError:
    return too_large(f"it holds more than {values} values")


def _too_deep(levels: int) -> ApiError:
    return bad_request(f"the body cannot be read: it nests more than {levels} levels deep")


def _long_number() -> ApiError:
    return bad_request(
        f"the body cannot be read: a number of more than {LONGEST_NUMBER} characters"
    )
