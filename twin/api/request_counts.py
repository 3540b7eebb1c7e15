"""Metrics of the API server about itself: requests by what they asked for, how long they took, and what is under way.

Names and labels are kube-apiserver's (staging/src/k8s.io/apiserver/pkg/endpoints/metrics/metrics.go). Seconds are
wall seconds, and all of it begins at zero when the process starts: none of it is part of the simulation.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from twin.api.messages import Request
from twin.api.patching import APPLY
from twin.api.targets import read_target
from twin.kinds import KINDS
from twin.store import Store

Send = Callable[[dict[str, Any]], Awaitable[None]]
Labels = tuple[tuple[str, str], ...]
BUCKETS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0,
           10.0, 15.0, 20.0, 30.0, 45.0, 60.0)  # fmt: skip
"""Upper bounds of request durations, seconds."""
_JOB = ("job", "apiserver")
_VERBS = {"create": "POST", "update": "PUT", "get": "GET", "list": "LIST", "watch": "WATCH",
          "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETECOLLECTION"}  # fmt: skip
_FAMILIES = {
    "apiserver_request_total": ("counter", "Requests by what they asked for and how they were answered."),
    "apiserver_request_duration_seconds": ("histogram", "Wall seconds until an answer was complete."),
    "apiserver_current_inflight_requests": ("gauge", "Requests under way, watches left out."),
    "apiserver_longrunning_requests": ("gauge", "Watches and logs under way."),
    "apiserver_resource_objects": ("gauge", "Stored objects by kind."),
}  # fmt: skip


class RequestCounts:
    """What a server has been asked for since it started."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Read wall seconds from `clock`, which never goes back."""
        self.clock = clock
        self.total: Counter[Labels] = Counter()
        self.seconds: dict[Labels, list[float]] = {}
        self.inflight: Counter[str] = Counter({"mutating": 0, "readOnly": 0})
        self.long: Counter[Labels] = Counter()

    def begin(self, scope: dict[str, Any], headers: dict[str, str]) -> Counted:
        """Count a request that has arrived."""
        return Counted(self, scope, headers)

    def lines(self, store: Store, wanted: str = "") -> Iterator[str]:
        """Yield the page's lines; `wanted` names families, separated by commas (empty: all)."""
        names = wanted.split(",") if wanted else list(_FAMILIES)
        for name, (kind, text) in _FAMILIES.items():
            if name in names:
                yield f"# HELP {name} {text}"
                yield f"# TYPE {name} {kind}"
                yield from self._rows(name, store)

    def _rows(self, name: str, store: Store) -> Iterator[str]:
        if name == "apiserver_request_total":
            yield from (_line(name, labels, count) for labels, count in self.total.items())
        elif name == "apiserver_request_duration_seconds":
            for labels, cells in self.seconds.items():
                yield from _histogram(name, labels, cells)
        elif name == "apiserver_current_inflight_requests":
            for what, count in self.inflight.items():
                yield _line(name, (("request_kind", what),), count)
        elif name == "apiserver_longrunning_requests":
            yield from (_line(name, labels, count) for labels, count in self.long.items())
        else:
            for kind in (*KINDS.values(), *store.custom.stored.values()):
                labels = (("group", kind.group), ("resource", kind.plural))
                yield _line(name, labels, store.count(kind.resource))


class Counted:
    """One request."""

    def __init__(
        self, counts: RequestCounts, scope: dict[str, Any], headers: dict[str, str]
    ) -> None:
        self._counts = counts
        self._labels, self._dry_run = _labels_of(scope, headers)
        self._began = counts.clock()
        self._code = 0
        self._is_long = dict(self._labels)["verb"] in ("WATCH", "CONNECT")
        reads = scope["method"] in ("GET", "HEAD")
        self._kind = "readOnly" if reads else "mutating"
        self._count(1)

    def sending(self, send: Send) -> Send:
        """Return `send`, listened to for the status."""

        async def listen(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self._code = message["status"]
            await send(message)

        return listen

    def end(self) -> None:
        """Count the answer."""
        counts = self._counts
        self._count(-1)
        if not self._code:
            return
        dry_run = ("dry_run", self._dry_run)
        code = ("code", str(self._code))
        counts.total[(code, dry_run, *self._labels)] += 1
        if not self._is_long:
            took = counts.clock() - self._began
            cells = counts.seconds.setdefault((dry_run, *self._labels), [0.0] * (len(BUCKETS) + 2))
            cells[bisect_left(BUCKETS, took)] += 1
            cells[-1] += took

    def _count(self, step: int) -> None:
        if self._is_long:
            self._counts.long[self._labels] += step
        else:
            self._counts.inflight[self._kind] += step


def _labels_of(scope: dict[str, Any], headers: dict[str, str]) -> tuple[Labels, str]:
    path, query = scope["path"], scope["query_string"].decode("latin-1")
    pairs = (part.partition("=") for part in query.split("&") if part)
    request = Request(scope["method"], path, {name: value for name, _, value in pairs}, headers)
    target = read_target(path.rstrip("/"), request)
    if target is None:
        verb, known = scope["method"], path if path.count("/") < 2 else ""
        named = ("", "", "", known, "", "")
    else:
        asked = target.attributes
        verb = _VERBS.get(asked.verb, asked.verb.upper())
        if verb == "PATCH" and headers.get("content-type", "").startswith(APPLY):
            verb = "APPLY"
        if (asked.subresource, verb) == ("log", "GET") and request.flag("follow"):
            verb = "CONNECT"
        part = "resource" if asked.name or verb == "POST" else ""
        part = part or ("namespace" if target.namespace else "cluster")
        named = (asked.group, target.version, asked.resource, asked.subresource, part, "apiserver")
    keys = ("group", "version", "resource", "subresource", "scope", "component")
    dry_run = "All" if "dryRun" in request.query else ""
    return (*zip(keys, named, strict=True), ("verb", verb)), dry_run


def _histogram(name: str, labels: Labels, cells: list[float]) -> Iterator[str]:
    total = 0.0
    bounds = (*(f"{bound:g}" for bound in BUCKETS), "+Inf")
    for bound, count in zip(bounds, cells, strict=False):
        total += count
        yield _line(f"{name}_bucket", (*labels, ("le", bound)), total)
    yield _line(f"{name}_sum", labels, cells[-1])
    yield _line(f"{name}_count", labels, total)


def _line(name: str, labels: Labels, value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in sorted((*labels, _JOB)))
    return f"{name}{{{inside}}} {int(value) if value == int(value) else value!r}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
