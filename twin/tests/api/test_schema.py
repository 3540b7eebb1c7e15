"""The tables of fields, and what is made of them: protobuf, OpenAPI, strict validation."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twin.api import discovery
from twin.api.schema import Field, message, root_of
from twin.api.schema.checking import Check
from twin.api.schema.wire import CONTENT_TYPE, decode_object
from twin.api.schema.wire_out import encode_event, encode_object
from twin.errors import ApiError
from twin.kinds import KINDS
from twin.tests.api.conftest import Api

TABLED = [kind for kind in KINDS.values() if root_of(kind.group, kind.version, kind.kind)]


def _varint(value: int) -> bytes:
    found = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def _bytes(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _value(field: Field, value: Any) -> bytes:
    if field.message is not None:
        return _bytes(field.number, _object(field.message.name, value))
    if field.type in ("int32", "int64", "bool"):
        return _varint(field.number << 3) + _varint(int(value))
    if field.type == "Quantity":
        return _bytes(field.number, _bytes(1, value.encode()))
    if field.type == "IntOrString":
        text = isinstance(value, str)
        inner = _bytes(3, value.encode()) if text else b"\x10" + _varint(value)
        return _bytes(field.number, b"\x08" + _varint(int(text)) + inner)
    return _bytes(field.number, value.encode())


def _object(name: str, obj: dict[str, Any]) -> bytes:
    """Encode an object as a client does: an independent reading of the same tables."""
    found = b""
    for field in message(name).own:
        if field.inline and field.message is not None:
            inner = {key: obj[key] for key in field.message.fields if key in obj}
            found += _bytes(field.number, _object(field.message.name, inner))
        elif field.name not in obj:
            continue
        elif field.shape == "[]":
            found += b"".join(_value(field, each) for each in obj[field.name])
        elif field.shape == "{}":
            one = Field(field.name, 2, field.type)
            for key, each in obj[field.name].items():
                found += _bytes(field.number, _bytes(1, key.encode()) + _value(one, each))
        else:
            found += _value(field, obj[field.name])
    return found


def protobuf(api_version: str, kind: str, name: str, obj: dict[str, Any]) -> bytes:
    """Return a body as kubectl sends it."""
    of = _bytes(1, api_version.encode()) + _bytes(2, kind.encode())
    return b"k8s\x00" + _bytes(1, of) + _bytes(2, _object(name, obj))


def _strategy(field: Field, depth: int) -> st.SearchStrategy[Any]:
    if field.shape == "[]":
        return st.lists(_strategy(field.element, depth), min_size=1, max_size=2)
    if field.shape == "{}":
        return st.dictionaries(st.text(max_size=3), _strategy(field.element, depth), min_size=1)
    if field.message is not None:
        return _objects(field.message.name, depth - 1)
    least = 0 if field.pointer else 1
    match field.type:
        case "string":
            return st.text(min_size=least, max_size=5)
        case "int32" | "int64":
            return st.integers(-(1 << 31), (1 << 31) - 1).filter(lambda n: field.pointer or n)
        case "bool":
            return st.booleans() if field.pointer else st.just(True)
        case "Quantity":
            return st.sampled_from(["1", "100m", "2Gi"])
        case "IntOrString":
            return st.integers(0, 99) | st.sampled_from(["25%", "http"])
    return st.nothing()


def _objects(name: str, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    if depth <= 0:
        return st.just({})
    fields = {
        field.name: _strategy(field, depth)
        for field in message(name).fields.values()
        if not _strategy(field, 0).is_empty
    }
    return st.fixed_dictionaries({}, optional=fields)


KNOWN = [
    ("apps/v1", "Deployment", "apps.v1.Deployment"),
    ("batch/v1", "Job", "batch.v1.Job"),
    ("v1", "Namespace", "core.v1.Namespace"),
    ("v1", "ResourceQuota", "core.v1.ResourceQuota"),
    ("policy/v1", "PodDisruptionBudget", "policy.v1.PodDisruptionBudget"),
    ("autoscaling/v2", "HorizontalPodAutoscaler", "autoscaling.v2.HorizontalPodAutoscaler"),
]


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(KNOWN))
def test_protobuf_says_what_json_says(data: st.DataObject, known: tuple[str, str, str]) -> None:
    """An object that is sent as protobuf is read as the object that was meant."""
    api_version, kind, name = known
    obj = data.draw(_objects(name, 4))
    read = decode_object(protobuf(api_version, kind, name, obj))
    flat = {"apiVersion": api_version, "kind": kind, **obj}
    assert _plain(read) == _plain(flat)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from(KNOWN))
def test_protobuf_is_written_as_it_is_read(
    data: st.DataObject, known: tuple[str, str, str]
) -> None:
    """An object that is written as protobuf is read as itself, but for zeros that it has room for."""
    api_version, kind, name = known
    obj = {"apiVersion": api_version, "kind": kind, **data.draw(_objects(name, 4))}
    written = encode_object(obj)
    assert written is not None
    read = decode_object(written)
    assert _said(obj, read) == _plain(obj)


def _said(obj: Any, read: Any) -> Any:
    """Return the parts of what was read that were written."""
    if isinstance(obj, dict) and isinstance(read, dict):
        return _plain({key: _said(each, read.get(key)) for key, each in obj.items()})
    if isinstance(obj, list) and isinstance(read, list):
        assert len(obj) == len(read)
        return [_said(one, other) for one, other in zip(obj, read, strict=True)]
    return read


def test_who_reads_protobuf_alone_gets_it() -> None:
    """An answer, a list and a line of a watch are written as a real server writes them."""
    metadata = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7"}
    item = {"metadata": metadata, "data": {"k": "v"}}
    body = b'\n\x01a\x12\x00\x1a\x01n"\x00*\x01u2\x0178\x00B\x00'
    content = _bytes(1, body) + _bytes(2, _bytes(1, b"k") + _bytes(2, b"v"))
    one = encode_object({"kind": "ConfigMap", "apiVersion": "v1", **item})
    kinds = _bytes(1, _bytes(1, b"v1") + _bytes(2, b"ConfigMap"))
    assert one == b"k8s\x00" + kinds + _bytes(2, content) + b'\x1a\x00"\x00'
    listed = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}}
    whole = encode_object({**listed, "items": [item]})
    assert whole is not None
    assert _bytes(1, b"\n\x00\x12\x019\x1a\x00") + _bytes(2, content) in whole
    line = {"type": "ADDED", "object": {"kind": "ConfigMap", "apiVersion": "v1", **item}}
    frame = encode_event(json.dumps(line).encode())
    assert frame is not None
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert frame[4:] == _bytes(1, b"ADDED") + _bytes(2, _bytes(1, one))


def _plain(value: Any) -> Any:
    """Return a value without empty objects: protobuf has no word for whether they were said."""
    if isinstance(value, dict):
        found = {key: _plain(each) for key, each in value.items()}
        return {key: each for key, each in found.items() if each != {}}
    return [_plain(each) for each in value] if isinstance(value, list) else value


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_bytes_that_are_no_object_are_refused(body: bytes) -> None:
    """Any bytes are read or refused with 400 or 415, never anything else."""
    for content in (body, b"k8s\x00" + body):
        try:
            decode_object(content)
        except ApiError as refused:
            assert refused.status in (400, 415)  # noqa: PT017 - reading them is right as well


def test_an_unknown_protobuf_field_is_told(api: Api) -> None:
    """A field without an entry in the tables is 415 with the way round it, never dropped."""
    body = protobuf("v1", "Namespace", "core.v1.Namespace", {"metadata": {"name": "x"}})
    unknown = b"k8s\x00" + body[4:].replace(b"\x12", b"\x12", 1) + _bytes(2, _bytes(77, b"x"))
    status, refused = api.ask("POST", "/api/v1/namespaces", unknown, kind=CONTENT_TYPE)
    assert status == 415
    assert "apply -f" in refused["message"]
    assert api.ask("POST", "/api/v1/namespaces", body, kind=CONTENT_TYPE)[0] == 201


@pytest.mark.parametrize("kind", TABLED, ids=lambda kind: kind.resource)
def test_every_kind_is_described(api: Api, kind: Any) -> None:
    """Each kind that is kept stands in discovery and in OpenAPI, and every reference leads on."""
    path = f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"
    _, resources = api.ask("GET", f"/{path}")
    assert kind.resource in {resource["name"] for resource in resources["resources"]}
    _, document = api.ask("GET", f"/openapi/v3/{path}")
    schemas = document["components"]["schemas"]
    of = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    named = [schema for schema in schemas.values() if of in schema.get(GVK, [])]
    assert len(named) == 1
    references = json.dumps(schemas).split('"#/components/schemas/')[1:]
    assert {text.partition('"')[0] for text in references} <= set(schemas)


GVK = "x-kubernetes-group-version-kind"


def test_unknown_fields_are_told_as_asked(api: Api) -> None:
    """Strict refuses an unknown field, Warn says it, Ignore is silent; none keeps it."""
    path = "/api/v1/namespaces/default/configmaps"
    body = {"metadata": {"name": "m"}, "dota": {"a": "b"}}
    status, refused = api.ask("POST", path, body, fieldValidation="Strict")
    assert (status, refused["reason"]) == (400, "BadRequest")
    assert 'unknown field "dota"' in refused["message"]
    status, made = api.ask("POST", path, body, fieldValidation="Ignore")
    assert status == 201
    assert "dota" not in made
    assert api.ask("POST", path, body, fieldValidation="Odd")[0] == 422


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"spec": {"replicas": "2"}}, "spec.replicas"),
        ({"spec": {"replicas": 1 << 31}}, "spec.replicas"),
        ({"spec": {"paused": 1}}, "spec.paused"),
        ({"spec": {"template": []}}, "spec.template"),
        ({"spec": {"template": {"spec": {"containers": [1]}}}}, "spec.template.spec.containers[0]"),
        ({"metadata": {"labels": {"a": 1}}}, "metadata.labels.a"),
    ],
)
def test_wrong_types_are_refused_by_path(value: dict[str, Any], path: str) -> None:
    """A value of the wrong type is 400 that says where it stands."""
    root = root_of("apps", "v1", "Deployment")
    assert root is not None
    with pytest.raises(ApiError, match=path.replace("[", r"\[")) as refused:
        Check("Deployment", "v1").clean(value, root)
    assert refused.value.status == 400


def test_groups_that_only_look_alike_have_no_table() -> None:
    """A custom resource named like a built-in kind is not read by its table."""
    assert root_of("apps.example.com", "v1", "Deployment") is None
    assert root_of("", "v1", "Deployment") is None
    assert discovery.api_group("example.com") is None
