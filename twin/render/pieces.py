"""Stored objects as JSON bytes: exactly what `render` gives, without walking specs again.

The spec of a pod is the larger part of it and is the same for all pods of one shape, so its bytes
are kept once per shape, as long as a pod has it, and put between the others.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import orjson

from twin.encoding import json_of
from twin.records import Object, PodRecord, PodShape, Record
from twin.render import render
from twin.render.pod import render_pod

_specs: WeakKeyDictionary[PodShape, bytes] = WeakKeyDictionary()  # a cache of pure results


def object_bytes(resource: str, record: Record) -> bytes:
    """Return an object with its kind, as a GET answers."""
    return json_of(_whole(resource, record))


def item_bytes(resource: str, record: Record) -> bytes:
    """Return an object as a list of a built-in kind holds it: without kind and apiVersion."""
    obj = _whole(resource, record)
    del obj["kind"], obj["apiVersion"]
    return json_of(obj)


def partial_bytes(resource: str, record: Record) -> bytes:
    """Return an object's metadata alone, as PartialObjectMetadata."""
    metadata = render(resource, record)["metadata"]
    return json_of(
        {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
    )


def _whole(resource: str, record: Record) -> Object:
    if not isinstance(record, PodRecord):
        return render(resource, record)
    obj = render_pod(record)
    obj["spec"] = orjson.Fragment(_spec_bytes(record.shape, record.node_name))
    return obj


def _spec_bytes(shape: PodShape, node_name: str) -> bytes:
    spec = _specs.get(shape)
    if spec is None:
        spec = _specs[shape] = json_of(shape.spec)
    if not node_name:
        return spec
    return b'%b,"nodeName":"%b"}' % (spec[:-1], node_name.encode())
