"""The forms that a client may ask for by `Accept`: whole objects, a Table (kubectl), metadata alone.

Lists, single objects and watch lines go through one `Form`, so `kubectl get -w` prints the same
columns as `kubectl get`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from twin.api.columns import columns_of
from twin.api.custom_columns import custom_cells, custom_heads
from twin.api.messages import Object, Request
from twin.api.negotiation import OBJECTS, PROTOBUF, STREAMS, YAML, not_acceptable
from twin.custom.version import ServedVersion
from twin.errors import ApiError, bad_request
from twin.kinds import Kind

META = "meta.k8s.io/v1"
_OLDER_META = "meta.k8s.io/v1beta1"
_PARTIAL = ("PartialObjectMetadata", "PartialObjectMetadataList")
SHOWN = 100
"""Characters of a malformed text that a refusal repeats."""
_OURS = frozenset({*OBJECTS, "*/*"})
_DOCUMENT = re.compile(r"as=(\w+)")
_META_VERSION = re.compile(r"\bv=(\w+)")


@dataclass(frozen=True, slots=True)
class Form:
    """What each object becomes on its way out."""

    kind: Literal["object", "table", "partial"] = "object"
    include: str = "Metadata"
    """What a Table's rows carry of the objects: None, Metadata or Object."""
    custom: ServedVersion | None = None
    """What a definition says about the columns; None for a built-in kind."""
    version: str = META
    """Version of a Table."""

    @classmethod
    def for_request(cls, request: Request, kind: Kind | None = None, asked: str = "") -> Form:
        """Return the first form of a request's Accept that is served; raises ApiError 400 or 406.

        `asked` is the form of metadata alone that fits the answer, where only one does: of one object or of a
        list. Watches, and answers to writes, have none.
        """
        accept = request.headers.get("accept", "")
        streaming = not asked and request.method == "GET" and request.flag("watch")
        offered: tuple[str, ...] = ()
        for part in filter(None, (part.strip() for part in accept.split(","))):
            media, _, parameters = part.partition(";")
            match = _DOCUMENT.search(parameters)
            media = media.strip()
            if media not in _OURS:
                continue
            if media == YAML and streaming:
                offered = offered or STREAMS
                continue
            offered = OBJECTS
            if match is None:
                return cls()
            asked_for = match[1] if "g=meta.k8s.io" in parameters else ""
            version = _META_VERSION.search(parameters)
            meta_version = f"meta.k8s.io/{version[1] if version else 'v1'}"
            if meta_version not in (META, _OLDER_META):
                continue
            if asked_for == "Table" and media != PROTOBUF:
                include = _inclusion(request)
                return cls("table", include, None if kind is None else kind.custom, meta_version)
            if asked_for in _PARTIAL:
                if asked in _PARTIAL and asked_for != asked:
                    _refuse_partial(asked_for, kind)
                return cls("partial")
        if accept:
            listing = streaming or asked == _PARTIAL[1]
            raise _unacceptable(kind, offered, listing=listing)
        return cls()

    def one(self, resource: str, obj: Object, now: float, *, head: bool = True) -> Object:
        """Return one object in this form; `head` False leaves a Table's columns out."""
        if self.kind == "table":
            metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
            kind: Object = {name: obj[name] for name in ("kind", "apiVersion") if name in obj}
            return self._table(resource, [obj], kind, metadata, now, head=head)
        return _partial_metadata(obj) if self.kind == "partial" else obj

    def render_list(self, resource: str, listed: Object, now: float) -> Object:
        """Return a list in this form; `now` is cluster time, unix seconds."""
        if self.kind == "table":
            kind = {
                "kind": str(listed["kind"]).removesuffix("List"),
                "apiVersion": listed["apiVersion"],
            }
            return self._table(resource, listed["items"], kind, listed["metadata"], now)
        if self.kind == "partial":
            return {
                "kind": "PartialObjectMetadataList",
                "apiVersion": META,
                "metadata": listed["metadata"],
                "items": [_partial_metadata(obj) for obj in listed["items"]] or None,
            }
        return listed

    def _table(
        self,
        resource: str,
        objects: list[Object],
        kind: Object,
        metadata: Object,
        now: float,
        *,
        head: bool = True,
    ) -> Object:
        return {
            "kind": "Table",
            "apiVersion": self.version,
            "metadata": metadata,
            "columnDefinitions": self.heading(resource)["columnDefinitions"] if head else None,
            "rows": [self.row(resource, obj, kind, now) for obj in objects],
        }

    def heading(self, resource: str) -> Object:
        """Return a Table without metadata and rows."""
        if self.custom is not None:
            heads = custom_heads(self.custom)
            return {"kind": "Table", "apiVersion": self.version, "columnDefinitions": heads}
        columns = [
            {
                "name": column.name,
                "type": column.type,
                "format": "name" if column.name in ("Name", "Attacher") else "",
                "description": column.name,
                "priority": int(column.wide),
            }
            for column in columns_of(resource)
        ]
        return {"kind": "Table", "apiVersion": self.version, "columnDefinitions": columns}

    def row(self, resource: str, obj: Object, kind: Object, now: float) -> Object:
        """Return the row of one object; `kind` holds its kind and apiVersion."""
        if self.custom is None:
            cells = [column.read(obj, now) for column in columns_of(resource)]
        else:
            cells = custom_cells(self.custom, obj, now)
        if self.include == "None":
            return {"cells": cells, "object": None}
        whole = self.include == "Object"
        return {"cells": cells, "object": {**kind, **obj} if whole else _partial_metadata(obj)}


def _unacceptable(kind: Kind | None, offered: tuple[str, ...], *, listing: bool) -> ApiError:
    """406 of forms that are not served; `offered` where the media type is. Lists may be watched, too."""
    if offered or (kind is not None and kind.custom is not None):
        return not_acceptable(offered or OBJECTS, framework=False)
    return not_acceptable((*OBJECTS, *STREAMS) if listing else OBJECTS, framework=True)


def _inclusion(request: Request) -> str:
    """Return what rows are to carry; raises ApiError 400."""
    include = request.query.get("includeObject") or "Metadata"
    if include not in ("Metadata", "Object", "None"):
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{include[:SHOWN]}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    return include


def _refuse_partial(wanted: str, kind: Kind | None) -> None:
    """Raise ApiError 406 for the form of a list that is asked of an object, or the other way round."""
    name = "" if kind is None else f"*{kind.group.partition('.')[0] or 'core'}.{kind.kind}"
    what = f"is not a list ({name})" if wanted.endswith("List") else f"is a list ({name}List)"
    message = f"you requested {wanted}, but the requested object {what}"
    raise ApiError(406, "NotAcceptable", message)


def _partial_metadata(obj: Object) -> Object:
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": obj["metadata"]}
