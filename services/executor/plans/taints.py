"""Our own taints on a node, set and taken away one by one.

A node's taints are one list, in which others write as well: the node controller when a node is cordoned or not
ready, cloud providers, people. So neither the whole list is written nor compared: a change names its own entries
(`{"add": [...], "remove": [...]}`), and is sent as a JSON Patch (RFC 6902) that holds only for the version that
was read. Source: Kubernetes, "Taints and Tolerations"; a taint is identified by key and effect.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Taint = Mapping[str, str]


def find_taint(taints: Sequence[Taint], wanted: Taint) -> int | None:
    """Return the place of the taint with the same key and effect; None: there is none."""
    same = [
        one.get("key") == wanted["key"] and one.get("effect") == wanted["effect"] for one in taints
    ]
    return same.index(True) if True in same else None


def has_taint(taints: Sequence[Taint], wanted: Taint) -> bool:
    """Say whether a taint is there with its value."""
    place = find_taint(taints, wanted)
    return place is not None and taints[place].get("value", "") == wanted.get("value", "")


def shows_taints(node: Mapping[str, Any], change: str) -> bool:
    """Say whether a node, as the API shows it, has what a change adds and nothing that it removes."""
    fields, taints = json.loads(change), _taints_of(node)
    return all(has_taint(taints, one) for one in fields["add"]) and all(
        find_taint(taints, one) is None for one in fields["remove"]
    )


def taint_patch(node: Mapping[str, Any], change: str) -> list[dict[str, Any]]:
    """Return the JSON Patch that makes a change of a node as the API shows it; empty: nothing is to be done."""
    fields, taints = json.loads(change), _taints_of(node)
    missing = [one for one in fields["add"] if not has_taint(taints, one)]
    places = {find_taint(taints, one) for one in (*missing, *fields["remove"])} - {None}
    if not missing and not places:
        return []
    metadata = node["metadata"]
    tests = [
        {"op": "test", "path": f"/metadata/{name}", "value": metadata[name]}
        for name in ("uid", "resourceVersion")
    ]
    taken = [
        {"op": "remove", "path": f"/spec/taints/{place}"}
        for place in reversed(range(len(taints)))
        if place in places
    ]
    if taints:
        given = [{"op": "add", "path": "/spec/taints/-", "value": one} for one in missing]
    else:
        given = [{"op": "add", "path": "/spec/taints", "value": missing}]
    return [*tests, *taken, *given]


def _taints_of(node: Mapping[str, Any]) -> Sequence[Taint]:
    return (node.get("spec") or {}).get("taints") or []
