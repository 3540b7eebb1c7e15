"""Groups that APIServices name, in discovery: those of other servers beside those of the twin.

Lists of groups name every APIService's. Aggregated discovery has what the other server said of its kinds, and calls
a version stale of which it has said nothing. Source: kubernetes/kubernetes staging/src/k8s.io/kube-aggregator
pkg/apiserver (handler_apis.go, handler_discovery.go at 1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from twin.bootstrap.priorities import GROUP_PRIORITIES
from twin.controllers.api_services import API_SERVICES
from twin.custom.version import version_rank
from twin.records import ObjectRecord
from twin.store import Store

Object = dict[str, Any]
Known = Mapping[tuple[str, str], Sequence[Object]]
"""What other servers said of the kinds of a group and version, as entries of an APIResourceList."""
_PRIORITIES = {**GROUP_PRIORITIES, "apiregistration.k8s.io": 20_000}
"""... of the twin's own groups; that of APIServices themselves is the first."""
_CUSTOM_PRIORITY = 1_000
"""... and of those that a real server makes for definitions."""


@dataclass(frozen=True, slots=True)
class ForeignVersion:
    """A group and version that an APIService names."""

    group: str
    version: str
    group_priority: int
    version_priority: int
    local: bool
    """Whether no other server is named: the group is listed and has nothing."""
    resources: Sequence[Object] | None
    """Its kinds as entries of an APIResourceList; None: nobody has said."""


def foreign_versions(store: Store, known: Known, own: Iterable[str]) -> list[ForeignVersion]:
    """Return what APIServices name beside the twin's `own` groups, the preferred first."""
    if not store.count(API_SERVICES):
        return []
    served, found = set(own), []
    for record in store.records(API_SERVICES):
        assert isinstance(record, ObjectRecord)
        spec: Object = record.body["spec"]
        group, version = spec.get("group") or "", spec.get("version") or ""
        if group and group not in served:
            ranks = spec["groupPriorityMinimum"], spec["versionPriority"]
            local = spec.get("service") is None
            one = ForeignVersion(group, version, *ranks, local, known.get((group, version)))
            found.append(one)
    greatest: dict[str, int] = {}
    for one in found:
        greatest[one.group] = max(greatest.get(one.group, 0), one.group_priority)
    return sorted(
        found,
        key=lambda one: (
            -greatest[one.group],
            one.group,
            -one.version_priority,
            version_rank(one.version),
        ),
    )


def with_groups(document: Object, foreign: Sequence[ForeignVersion]) -> Object:
    """Return an APIGroupList with the groups of others at their places."""
    added = [(versions[0].group_priority, group_entry(versions)) for versions in _groups(foreign)]
    return {**document, "groups": _merged(document["groups"], added, lambda entry: entry["name"])}


def group_entry(versions: Sequence[ForeignVersion]) -> Object:
    """Return a group as lists of groups have it."""
    entries = [
        {"groupVersion": f"{one.group}/{one.version}", "version": one.version} for one in versions
    ]
    return {"name": versions[0].group, "versions": entries, "preferredVersion": entries[0]}


def with_aggregated(document: Object, foreign: Sequence[ForeignVersion], kinds_of: Any) -> Object:
    """Return aggregated discovery with the groups of others; `kinds_of` writes entries in its form."""
    added = []
    for versions in _groups([one for one in foreign if not one.local]):
        shown = [_version_entry(one, kinds_of) for one in versions]
        entry = {"metadata": {"name": versions[0].group}, "versions": shown}
        added.append((versions[0].group_priority, entry))
    items = _merged(document["items"], added, lambda entry: entry["metadata"].get("name", ""))
    return {**document, "items": items}


def _version_entry(one: ForeignVersion, kinds_of: Any) -> Object:
    if one.resources is None:
        return {"version": one.version, "freshness": "Stale"}
    return {
        "version": one.version,
        "resources": kinds_of(one.resources),
        "freshness": "Current",
    }


def _groups(foreign: Sequence[ForeignVersion]) -> list[list[ForeignVersion]]:
    return [list(versions) for _, versions in groupby(foreign, lambda one: one.group)]


def _merged(
    own: Sequence[Object], added: Sequence[tuple[int, Object]], name_of: Any
) -> list[Object]:
    """Return entries by the priorities of their groups; those that are equal by name."""
    ranked = [(_PRIORITIES.get(name_of(entry), _CUSTOM_PRIORITY), entry) for entry in own]
    ranked = sorted([*ranked, *added], key=lambda pair: (-pair[0], name_of(pair[1])))
    return [entry for _, entry in ranked]
