"""Outcome of the work of Job pods: CPU-seconds that came to an end in time, late, or were thrown away.

A container that ends before its work is done, or fails at its end, has worked for nothing: evictions, kills,
deletions and dead machines all count so. Late is what ended more than the pod's annotation
`foresail.dev/deadline-seconds` after its Job was created, or after its own creation where it has none: a pod
that takes the place of another one has no more time. Without the annotation nothing is late.
"""

from __future__ import annotations

import math

from twin.behaviour.cpu_counters import CpuCounters
from twin.behaviour.pod_work import DEADLINE_SECONDS, exit_code_of
from twin.behaviour.usage_table import UsageTable
from twin.part import Part
from twin.records import PodRecord
from twin.world import World

_DONE_SECONDS = 1e-3  # times are whole microseconds


class JobWork(Part):
    """Counts containers and CPU-seconds by what became of them: in time, late, lost."""

    KEEPS = ("containers", "cpu_seconds", "_stepped_at")

    def __init__(self, world: World, usage: UsageTable, counters: CpuCounters) -> None:
        self._world = world
        self._usage = usage
        self._counters = counters
        self.containers: dict[str, int] = {"in time": 0, "late": 0, "lost": 0}
        self.cpu_seconds: dict[str, float] = {"in time": 0.0, "late": 0.0, "lost": 0.0}
        self._stepped_at = world.now

    def step(self) -> None:
        """A step of contention has accounted for all work up to now."""
        self._stepped_at = self._world.now

    def pod_stops(self, uid: str) -> None:
        """A container ends now; it is still in the usage table."""
        row, usage, now = self._usage.row_of[uid], self._usage, self._world.now
        left, pod = float(usage["work_left"][row]), self._world.pods.get(uid)
        if left == math.inf:
            return
        since = now - max(float(usage["started_at"][row]), self._stepped_at)
        spent = self._counters.of_pod(uid) or 0.0
        spent += float(usage["cpu_now"][row]) * since / 1_000.0
        done = left - float(usage["rate"][row]) * since <= _DONE_SECONDS
        outcome = "lost"
        if done and pod is not None and not exit_code_of(pod):  # None: just removed
            outcome = "late" if now > self._deadline(pod) else "in time"
        self.containers[outcome] += 1
        self.cpu_seconds[outcome] += spent

    def _deadline(self, pod: PodRecord) -> float:
        try:
            seconds = float(pod.annotations[DEADLINE_SECONDS])
        except (KeyError, ValueError):
            return math.inf
        asked_at = pod.created_at
        for owner in pod.owners:
            if owner.get("controller") and owner.get("kind") == "Job":
                job = self._world.store.find("jobs", pod.namespace, str(owner["name"]))
                asked_at = (
                    job.created_at if job is not None and job.uid == owner["uid"] else asked_at
                )
        return asked_at + seconds
