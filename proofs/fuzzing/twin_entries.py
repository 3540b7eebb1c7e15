"""The twin's readers of what clients send: bodies, patches, selectors, tokens and whole requests."""

from __future__ import annotations

import orjson

from proofs.fuzzing.entry import Entry
from twin.api.bodies import json_of
from twin.api.json_patch import json_patched
from twin.api.messages import Request
from twin.api.schema.wire import decode_object
from twin.api.selecting import field_requirements, label_requirements
from twin.errors import ApiError

POD = (
    b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}},'
    b'"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}'
)
YAML_POD = b"""apiVersion: v1
kind: Pod
metadata: {name: p, labels: {a: "b"}}
spec:
  containers:
  - name: c
    image: i
    resources: {requests: {cpu: 100m}}
"""
NESTED_ALIASES = b"a: &a [x, x]\n" + b"".join(
    b"%c: &%c [*%c, *%c]\n" % (n, n, n - 1, n - 1) for n in range(ord("b"), ord("z"))
)


def _refused(error: ApiError) -> None:
    if not 400 <= error.status < 500:
        raise AssertionError(f"refused with {error.status}") from error


def _body(content: bytes, media: str) -> None:
    try:
        json_of(Request("POST", "/api/v1/pods", headers={"content-type": media}, body=content))
    except ApiError as error:
        _refused(error)


def read_json(content: bytes) -> None:
    """Read a JSON body."""
    _body(content, "application/json")


def read_yaml(content: bytes) -> None:
    """Read a YAML body."""
    _body(content, "application/yaml")


def read_protobuf(content: bytes) -> None:
    """Read a protobuf body."""
    try:
        decode_object(content)
    except ApiError as error:
        _refused(error)


def read_json_patch(content: bytes) -> None:
    """Apply a JSON patch to a small document."""
    try:
        steps = orjson.loads(content)
    except ValueError:
        return
    try:
        json_patched({"a": {"b": [1, 2, {"c": "d"}]}}, steps)
    except ApiError as error:
        _refused(error)


def read_selectors(content: bytes) -> None:
    """Read a text as label selector and as field selector."""
    text = content.decode("latin-1")
    for read in (label_requirements, lambda given: field_requirements(given, "pods")):
        try:
            for found in read(text):
                if callable(found):
                    found({"a": "b", "n": "12"})
        except ApiError as error:
            _refused(error)


ENTRIES = (
    Entry("twin-json", read_json, (POD, b"{}", b"[1e5]", b'{"a":"\\ud83d\\ude00"}')),
    Entry("twin-yaml", read_yaml, (YAML_POD, NESTED_ALIASES, b"a: {b: [c, 1, 0x10, ~]}\n--- \n")),
    Entry(
        "twin-protobuf", read_protobuf, (b"k8s\0\n\x09\n\x02v1\x12\x03Pod\x12\x05\n\x03\n\x01p",)
    ),
    Entry(
        "twin-json-patch",
        read_json_patch,
        (
            b'[{"op":"add","path":"/a/b/-","value":1},{"op":"test","path":"/a/b/0","value":1}]',
            b'[{"op":"copy","from":"/a","path":"/a/b/0"},{"op":"move","from":"/a/b","path":"/c"}]',
            b'[{"op":"remove","path":"/a/b/2/c"},{"op":"replace","path":"/a","value":{}}]',
        ),
    ),
    Entry(
        "twin-selectors",
        read_selectors,
        (b"a=b,c!=d,e in (f,g),!h,i,j notin (k),n>3", b"metadata.name=a,status.phase!=Running"),
    ),
)
