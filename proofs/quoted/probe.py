"""Runs `foresail up` of whatever checkout it is started in, and counts in its twin what became of Jobs and pods.

    python probe.py RESULT.json up --virtual-time --for 30m --workload google2011

It imports nothing of this checkout, and of the other one only what every commit since the first virtual run has.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import Any

HOUR = 3_600.0
FIRST_SECONDS = 60.0
"""What runs at the start is placed in these; its queue says nothing."""


class Probe:
    """Counts in one simulated cluster: exact, from its changes alone."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._began = self._at = engine.now
        self._unplaced: set[str] = set()
        self._pending: set[str] = set()
        self._unplaced_seconds = self._pending_seconds = 0.0
        self._most = 0
        self._counts: Counter[str] = Counter()
        self._ended: set[str] = set()
        self._seconds: dict[str, float] = {}
        self._replicas: dict[str, list[int]] = {}
        engine.store.subscribe(self._follow)

    @property
    def seconds(self) -> dict[str, float]:
        """How long each Job that completed took, by name."""
        return self._seconds

    def figures(self) -> dict[str, Any]:
        """Return what has happened up to now."""
        self._pass()
        grown = max(self._replicas.values(), key=lambda seen: seen[1] - seen[0], default=[0, 0])
        return {
            "hours": round((self._engine.now - self._began) / HOUR, 3),
            "jobs_completed": self._counts["Complete"],
            "jobs_failed": self._counts["Failed"],
            "job_seconds_mean": mean(self._seconds.values()),
            "unplaced_pod_hours": round(self._unplaced_seconds / HOUR, 2),
            "pending_pod_hours": round(self._pending_seconds / HOUR, 2),
            "pending_pods_most": self._most,
            "replicas_first": grown[0],
            "replicas_most": grown[1],
        }

    @staticmethod
    def _keep(uids: set[str], uid: str, *, keep: bool) -> None:
        (uids.add if keep else uids.discard)(uid)

    def _pass(self) -> None:
        now = self._engine.now
        self._unplaced_seconds += len(self._unplaced) * (now - self._at)
        self._pending_seconds += len(self._pending) * (now - self._at)
        self._at = now

    def _follow(self, change: Any) -> None:
        record = change.record
        if change.resource == "pods":
            self._pass()
            pending = change.type != "DELETED" and record.phase == "Pending"
            self._keep(self._pending, record.uid, keep=pending)
            self._keep(self._unplaced, record.uid, keep=pending and not record.node_name)
            if self._engine.now - self._began > FIRST_SECONDS:
                self._most = max(self._most, len(self._pending))
        elif change.resource == "deployments":
            replicas = record.body["spec"].get("replicas", 1)
            seen = self._replicas.setdefault(record.uid, [replicas, replicas])
            seen[1] = max(seen[1], replicas)
        elif change.resource == "jobs" and change.type != "DELETED":
            self._follow_job(record)

    def _follow_job(self, job: Any) -> None:
        conditions = (job.body.get("status") or {}).get("conditions") or []
        ends = {one["type"] for one in conditions if one["status"] == "True"}
        for end in ends & {"Complete", "Failed"} if job.uid not in self._ended else ():
            self._ended.add(job.uid)
            self._counts[end] += 1
            if end == "Complete":
                self._seconds[f"{job.namespace}/{job.name}"] = self._engine.now - job.created_at


def mean(seconds: Collection[float]) -> float:
    """Return the mean, to a tenth of a second; 0 of nothing."""
    return round(math.fsum(seconds) / max(1, len(seconds)), 1)


def main(result: str, *words: str) -> None:
    """Run the words as foresail's command line, and write figures and the run's own summary."""
    probes: list[Probe] = []
    summaries: list[dict[str, Any]] = []
    twin, virtual = import_module("twin.inprocess"), import_module("foresail.stack.virtual")
    build, run = twin.InProcessTwin.__init__, virtual.run_virtual_stack

    def watched(self: Any, engine: Any, **options: Any) -> None:
        build(self, engine, **options)
        probes.append(Probe(engine))

    def kept(*arguments: Any, **options: Any) -> dict[str, Any]:
        summary: dict[str, Any] = run(*arguments, **options)
        summaries.append(summary)
        return summary

    twin.InProcessTwin.__init__, virtual.run_virtual_stack = watched, kept
    import_module("foresail.__main__").main(list(words))
    wanted = ("cycles", "decisions", "executions")
    summary = {name: summaries[0][name] for name in wanted}
    document = {"figures": {**probes[0].figures(), **summary}, "job_seconds": probes[0].seconds}
    Path(result).write_text(json.dumps(document, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    main(*sys.argv[1:])
