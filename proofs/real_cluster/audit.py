"""The API server's audit log: what reached it, from whom, and what it answered."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
REVIEWS = "selfsubjectaccessreviews"
"""Asking for rights is a POST that changes nothing."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, answered."""

    user: str
    agent: str
    """The User-Agent's first word."""
    verb: str
    resource: str
    """With its subresource, such as `pods/eviction`."""
    namespace: str
    name: str
    manager: str
    """The field manager that it names."""
    dry: bool
    code: int
    body: Any
    """What was sent, where the policy keeps it."""

    @property
    def writes(self) -> bool:
        """Whether it asks for a change, dry runs among them."""
        return self.verb in WRITES and self.resource != REVIEWS

    @property
    def changed(self) -> bool:
        """Whether it was let and is no dry run."""
        return self.writes and not self.dry and self.code < 300

    @property
    def key(self) -> tuple[str, str, str]:
        """Resource without subresource, namespace, name."""
        return self.resource.partition("/")[0], self.namespace, self.name

    @property
    def text(self) -> str:
        """One line for people."""
        where = "/".join(part for part in (self.namespace, self.name) if part)
        return (
            f"{self.verb} {self.resource} {where}{' dryRun=All' if self.dry else ''}: {self.code}"
        )


class AuditLog:
    """The file; `mark` notes where it ends now, `since` reads what came after."""

    def __init__(self, file: Path) -> None:
        """Read this file."""
        self._file = file

    def mark(self) -> int:
        """Return its length in bytes."""
        return self._file.stat().st_size

    def since(self, mark: int, user: str = "") -> list[Request]:
        """Return what was answered after a mark, of users whose names end so."""
        return [one for one in read_requests(self._lines(mark)) if one.user.endswith(user)]

    def reads_since(self, mark: int, part: str) -> Counter[str]:
        """Return the addresses that were read after a mark by users with `part` in their names: no watches, no
        writes, and also what is no object (`/version`).
        """
        events = map(json.loads, self._lines(mark))
        return Counter(
            event["requestURI"]
            for event in events
            if event["stage"] == "ResponseComplete"
            and event["verb"] not in {*WRITES, "watch"}
            and part in event["user"].get("username", "")
        )

    def _lines(self, mark: int) -> list[bytes]:
        with self._file.open("rb") as lines:
            lines.seek(mark)
            return lines.read().rpartition(b"\n")[0].splitlines()


def read_requests(lines: Iterable[bytes]) -> Iterator[Request]:
    """Yield the requests of audit events (`audit.k8s.io/v1`), each once: when it was answered.

    A watch is answered when it begins; its end is left out.
    """
    for line in lines:
        event = json.loads(line)
        watch = event["verb"] == "watch"
        refused = (event.get("responseStatus") or {}).get("code", 0) >= 400
        wanted = "ResponseStarted" if watch and not refused else "ResponseComplete"
        if event["stage"] != wanted or "objectRef" not in event:
            continue
        yield _request(event)


def _request(event: dict[str, Any]) -> Request:
    reference, query = event["objectRef"], parse_qs(urlsplit(event["requestURI"]).query)
    body = event.get("requestObject")
    inside = body.get("dryRun") if isinstance(body, dict) else None
    resource = "/".join(filter(None, (reference["resource"], reference.get("subresource"))))
    return Request(
        user=event["user"].get("username", ""),
        agent=event.get("userAgent", "").split(" ")[0],
        verb=event["verb"],
        resource=resource,
        namespace=reference.get("namespace", ""),
        name=reference.get("name", ""),
        manager=query.get("fieldManager", [""])[0],
        dry="All" in (*query.get("dryRun", ()), *(inside or ())),
        code=(event.get("responseStatus") or {}).get("code", 0),
        body=body,
    )
