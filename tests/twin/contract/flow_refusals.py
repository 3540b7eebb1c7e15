"""Flows of objects of every kind that cannot be made: without a name, with a bad one, with bad metadata, of a version.

All that is wrong is named at once, in the order in which a real server looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.twin.contract.flow_objects import PARTIALS, flow
from tests.twin.contract.flows import Flow
from twin.kinds import KINDS, Kind

_NOT_UPSTREAM = frozenset({"verticalpodautoscalers", "nodepools", "nodeclaims", "kwoknodeclasses"})
_ODD = frozenset(
    {
        *("events", "services", "limitranges"),  # their registries check before names are
        *(
            "customresourcedefinitions",
            "apiservices",
            "ipaddresses",
        ),  # their names are made of their specs
        *("nodes", "namespaces"),  # they would stay
    }
)
_BAD: dict[str, Any] = {
    "name": "refused",
    "labels": {"a b": "c"},
    "annotations": {"": "x"},
    "finalizers": ["nope"],
    "ownerReferences": [{"name": "refused"}],
}


def _collection(kind: Kind) -> str:
    group = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    return f"{group}{'/namespaces/{}' if kind.namespaced else ''}/{kind.resource}"


def _steps(kind: Kind) -> Iterator[tuple[Any, ...]]:
    path = _collection(kind)
    stated = {"apiVersion": kind.api_version, "kind": kind.kind}
    for metadata in ({}, {"name": "Bad_Word"}, _BAD, {"name": "refused", "namespace": "elsewhere"}):
        yield ("POST", f"{path}?dryRun=All", {**stated, "metadata": metadata})
    strict = f"{path}?dryRun=All&fieldValidation=Strict"
    yield ("POST", strict, {**stated, "metadata": {"name": "refused"}, "foo": 1})
    for word in ("MERGE", "STRATEGIC", "DELETE"):
        change = () if word == "DELETE" else ({"metadata": {"labels": {"a": "b"}}},)
        yield (word, f"{path}/missing", *change)
    yield (
        "APPLY",
        f"{path}/refused?fieldManager=m&dryRun=All",
        {**stated, "metadata": {"name": "y"}},
    )
    yield ("GET", f"{path}?fieldSelector=spec.nope%3Dx")
    yield ("GET", f"{path}?fieldSelector=metadata.name%3Dnobody", None, PARTIALS)
    yield ("POST", f"{path}/refused", {})
    yield ("GET", f"{path}/refused/nope")


FLOWS: list[Flow] = [
    flow(f"refusals of {resource}", *_steps(kind), seen=("metadata.name", "kind", "items"))
    for resource, kind in KINDS.items()
    if resource not in _NOT_UPSTREAM | _ODD
]
