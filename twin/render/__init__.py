"""Records to Kubernetes JSON. The dicts share parts with the store: read, never change them."""

from __future__ import annotations

from twin.kinds import kind_of
from twin.records import NodeRecord, Object, ObjectRecord, PodRecord, Record
from twin.render.metadata import render_metadata
from twin.render.node import render_node
from twin.render.pod import render_pod


def render(resource: str, record: Record) -> Object:
    """Return the object with `kind` and `apiVersion`, as a GET of it answers."""
    if isinstance(record, PodRecord):
        return render_pod(record)
    if isinstance(record, NodeRecord):
        return render_node(record)
    assert isinstance(record, ObjectRecord)
    metadata = render_metadata(record)
    if record.drawn_from is not None:
        metadata["generateName"] = record.drawn_from
    if record.generation:
        metadata["generation"] = record.generation
    if "kind" in record.body:  # a custom resource
        kind, version = record.body["kind"], record.body["apiVersion"]
        return {"kind": kind, "apiVersion": version, "metadata": metadata, **record.body}
    kind = kind_of(resource)
    return {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata, **record.body}


__all__ = ["render"]
