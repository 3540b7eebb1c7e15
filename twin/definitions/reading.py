"""The kinds that a CustomResourceDefinition serves, read from its body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twin.copying import copy_object
from twin.custom import kueue_versions
from twin.custom.pruning import fill, prune
from twin.custom.schema import OPEN, Node
from twin.custom.version import Column, Convert, ServedVersion, stability, version_rank
from twin.kinds import Kind

Object = dict[str, Any]


def kinds_of_definition(
    body: Mapping[str, Any], *, stored: bool = False, changed: bool = True
) -> list[Kind]:
    """Return the kinds that the body of an established definition serves, the best version first.

    `stored`: the version that objects are kept in alone, served or not. `changed`: objects may have been
    written by an earlier schema.
    """
    spec, names = body["spec"], body["status"]["acceptedNames"]
    ordered = sorted(spec["versions"], key=lambda version: version_rank(version["name"]))
    return [
        Kind(
            f"{names['plural']}.{spec['group']}",
            names["kind"],
            spec["group"],
            version["name"],
            spec["scope"] == "Namespaced",
            custom=_served(spec, names, version, ordered, changed=changed),
        )
        for version in ordered
        if (version.get("storage") if stored else version.get("served"))
    ]


def _served(
    spec: Object, names: Object, version: Object, ordered: list[Object], *, changed: bool
) -> ServedVersion:
    subresources = version.get("subresources") or {}
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    kept = next(each for each in spec["versions"] if each.get("storage"))
    several = len(ordered) > 1
    columns = tuple(
        Column(
            column["name"],
            column["type"],
            column["jsonPath"],
            column.get("format", ""),
            column.get("description", ""),
            column.get("priority", 0),
        )
        for column in version.get("additionalPrinterColumns") or ()
    )
    fields = version.get("selectableFields") or ()
    to_kept, from_kept = _conversions(spec, version["name"])
    return ServedVersion(
        list_kind=names.get("listKind") or f"{names['kind']}List",
        singular=names.get("singular") or names["kind"].lower(),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        schema=_root(schema),
        has_status=subresources.get("status") is not None,
        scale=subresources.get("scale"),
        columns=columns,
        selectable=tuple(field["jsonPath"].lstrip(".") for field in fields),
        warning=_warning(spec, names, version, ordered),
        to_kept=to_kept,
        from_kept=from_kept,
        kept=kept["name"],
        reread=_rereading(version, kept) if changed or several else None,
    )


def _root(schema: Object | None) -> Node:
    return OPEN if schema is None else Node(schema, root=True)


def _rereading(version: Object, kept: Object) -> Convert:
    """Return what is done with an object that is read: the defaults of the version in which it is kept are filled
    in, and what the version that is asked for has no place for is taken out.
    """
    ours, theirs = (
        _root((each.get("schema") or {}).get("openAPIV3Schema")) for each in (version, kept)
    )

    def reread(obj: Object) -> Object:
        whole: Object = copy_object(obj)
        fill(whole, theirs)
        for _ in prune(whole, ours):
            pass
        return whole

    return reread


def _conversions(spec: Object, version: str) -> tuple[Convert | None, Convert | None]:
    """Return how a version is turned into the kept one and back, if it is by a webhook that is known
    here; all others are converted by name alone.
    """
    webhook = (spec.get("conversion") or {}).get("webhook") or {}
    service = (webhook.get("clientConfig") or {}).get("service") or {}
    kept = next(each["name"] for each in spec["versions"] if each.get("storage"))
    said = (spec["group"], service.get("name"), version, kept)
    known = kueue_versions
    if said != (known.GROUP, known.SERVICE, known.OLDER, known.KEPT):
        return None, None
    return known.to_v1beta2, known.to_v1beta1


def _warning(spec: Object, names: Object, version: Object, ordered: list[Object]) -> str:
    """Return the warning of a deprecated version, which names a better one that is served."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        return str(version["deprecationWarning"])
    text = f"{spec['group']}/{version['name']} {names['kind']} is deprecated"
    for other in ordered:
        if other.get("served") and not other.get("deprecated"):
            if stability(other["name"]) < stability(version["name"]):
                break
            if version_rank(other["name"]) < version_rank(version["name"]):
                return f"{text}; use {spec['group']}/{other['name']} {names['kind']}"
            break
    return text
