"""The pods of the newest look, summed: a pod that has not changed since the look before is not looked at again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from services.collector.changed_objects import ChangedObjects
from services.collector.pod_rows import (
    PLACEMENT_BYTES,
    PodFacts,
    PodRows,
    SnapshotLimits,
    listed_rows,
    needs_attention,
    pod_facts,
    pod_rows,
    row_bytes,
)
from services.kube_objects import Pod

Row = dict[str, Any]


@dataclass(slots=True)
class _Sum:
    """The pods of one row of the placement table; CPU in whole micro-cores, so that sums are exact."""

    counted: int = 0
    """All that the row is about, those included that hold nothing."""
    pods: int = 0
    micro_cores: int = 0
    memory_bytes: int = 0
    gpus: int = 0
    unhealthy: int = 0
    restarted: int = 0

    def add(self, facts: PodFacts, sign: int) -> None:
        """Add a pod, or with -1 take it away."""
        self.counted += sign
        self.unhealthy += sign * facts.unhealthy
        if facts.holds:
            self.pods += sign
            self.micro_cores += sign * facts.micro_cores
            self.memory_bytes += sign * facts.memory_bytes
            self.gpus += sign * facts.gpus
            self.restarted += sign * facts.restarted

    def row(self) -> Row:
        """Return the cells of `schemas.snapshot.PlacementTable`."""
        return {
            "pods": self.pods,
            "cpu_request_cores": self.micro_cores / 1_000_000,
            "memory_request_bytes": self.memory_bytes,
            "gpus_requested": self.gpus,
            "unhealthy": self.unhealthy,
            "restarted": self.restarted,
        }


class PodSums:
    """Result of `pod_rows.pod_rows` over all pods, from what has changed."""

    def __init__(self) -> None:
        """Begin with no pods."""
        self._forget()

    def _forget(self) -> None:
        self._changes = ChangedObjects[Pod]()
        self._sums: dict[str, _Sum] = {}
        self._rows: dict[str, Row] = {}
        self._rows_bytes = 0
        self._attention: dict[int, tuple[Pod, PodFacts]] = {}  # which may have to be listed
        self._failed: dict[int, PodFacts] = {}
        self._expired: set[int] = set()  # failed too long ago to count
        self._since = -math.inf
        self._running = self._bare_succeeded = 0

    def look(self, pods: Sequence[Pod], now: float, cuts: SnapshotLimits) -> PodRows:
        """Return the same as `pod_rows`.

        Raises:
            ValueError: a quantity or time stamp cannot be read.
        """
        since = math.floor(cuts.since_seconds)
        if since < self._since:
            self._forget()  # who needed no look since then may need one
        changed = self._changes.compare(pods)
        if changed.doubled:
            return pod_rows(pods, now, cuts)
        facts = {key: pod_facts(pod) for key, pod in changed.come.items()}
        self._changes.remember(changed)
        places: dict[str, None] = {}
        for key, pod in changed.gone.items():
            self._drop(key, pod_facts(pod), places)
        for key, pod in changed.come.items():
            self._add(key, pod, facts[key], places)
        self._expire(now, cuts.failed_pod_seconds, places)
        self._write_rows(places)
        self._since = since
        listed = [
            pod
            for key, (pod, its) in self._attention.items()
            if key not in self._expired and needs_attention(its, since)
        ]
        self._attention = {
            key: (pod, its)
            for key, (pod, its) in self._attention.items()
            if needs_attention(its, since)
        }
        return PodRows(
            placements=self._rows
            if self._rows_bytes <= PLACEMENT_BYTES
            else pod_rows(pods, now, cuts).placements,
            running=self._running,
            total=len(pods),
            bare_succeeded=self._bare_succeeded,
            **listed_rows(listed, cuts.listed_pods),
        )

    def _add(self, key: int, pod: Pod, facts: PodFacts, places: dict[str, None]) -> None:
        self._running += facts.running
        self._bare_succeeded += facts.bare_succeeded
        if facts.needs_row or facts.changed_seconds is not None:
            self._attention[key] = (pod, facts)
        if facts.failed_seconds is not None:
            self._failed[key] = facts
        self._count(facts, 1, places)

    def _drop(self, key: int, facts: PodFacts, places: dict[str, None]) -> None:
        self._running -= facts.running
        self._bare_succeeded -= facts.bare_succeeded
        self._attention.pop(key, None)
        self._failed.pop(key, None)
        if key in self._expired:
            self._expired.remove(key)
        else:
            self._count(facts, -1, places)

    def _expire(self, now: float, failed_pod_seconds: float, places: dict[str, None]) -> None:
        """Take pods away that failed too long ago, and those back that did not."""
        for key, facts in self._failed.items():
            assert facts.failed_seconds is not None
            expired = now - facts.failed_seconds > failed_pod_seconds
            if expired and key not in self._expired:
                self._expired.add(key)
                self._count(facts, -1, places)
            elif not expired and key in self._expired:
                self._expired.remove(key)
                self._count(facts, 1, places)

    def _count(self, facts: PodFacts, sign: int, places: dict[str, None]) -> None:
        if not facts.place:
            return
        found = self._sums.get(facts.place)
        if found is None:
            found = self._sums[facts.place] = _Sum()
        found.add(facts, sign)
        places[facts.place] = None

    def _write_rows(self, places: dict[str, None]) -> None:
        if not places:
            return
        rows = dict(self._rows)  # who was given the former ones keeps them
        for place in places:
            if self._sums[place].counted:
                rows[place] = self._sums[place].row()
            else:
                del self._sums[place]
                rows.pop(place, None)
        self._rows, self._rows_bytes = rows, row_bytes(rows)
