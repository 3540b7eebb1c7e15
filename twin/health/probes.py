"""Probes that fail under load: a pod that gets too little CPU answers later and later.

Work that is not done waits, and a probe waits behind it: the backlog grows by what is missing of
`overload_ratio` of the CPU that the pod wants, and shrinks as fast when there is enough. A pod that serves
requests has a queue, and a probe stands in it like a request: there the backlog is the time until a worker
is free. A backlog longer than a probe's timeoutSeconds fails its tries. After failureThreshold of them the pod
is not ready, and its requests go to the others; or its container is killed, with every request in it. It is
ready again when it answers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from twin.behaviour.kubelet import Kubelet
from twin.behaviour.usage_table import UsageTable
from twin.health.weather import WeatherLevel
from twin.part import Part
from twin.records import Object, PodRecord, PodShape
from twin.world import World

_MOST_BACKLOG_SECONDS = 120.0
Waits = Callable[[], tuple[Any, Any] | None]
"""Returns rows of the usage table and seconds that a request would wait there (`twin.serving.serving`)."""


class ProbeHealth(Part):
    """Looks at all pods after each step of contention."""

    KEEPS = ("_failing_since", "_silent")

    def __init__(
        self, world: World, sky: WeatherLevel, usage: UsageTable, kubelet: Kubelet, waits: Waits
    ) -> None:
        self._world = world
        self._ratio = world.config.health.overload_ratio
        self._sky = sky
        self._usage = usage
        self._kubelet = kubelet
        self._waits = waits
        self._failing_since: dict[str, float] = {}  # by pod uid
        self._silent: dict[str, None] = {}  # uids of pods that are unready for it

    def look(self, rows: Any) -> None:
        """Count the backlog of each running pod, and fail the probes of those that are behind."""
        if self._sky.level == "off" and not self._failing_since:
            return
        usage, step = self._usage, self._world.config.scrape_seconds
        backlog = usage["backlog"][rows] + (self._ratio - usage["share"][rows]) * step
        usage["backlog"][rows] = np.clip(backlog, 0.0, _MOST_BACKLOG_SECONDS)
        self._look_at_queues()
        backlog = usage["backlog"][rows]
        behind = {usage.uids[row]: row for row in rows[backlog > 0.0].tolist()}
        for uid in [uid for uid in self._failing_since if uid not in behind]:
            self._recover(uid)
        for uid, row in behind.items():
            self._judge(self._world.pods[uid], float(usage["backlog"][row]))

    def _look_at_queues(self) -> None:
        """Set the backlog of pods that serve: the longest of their queues."""
        waits, backlog = self._waits(), self._usage["backlog"]
        if waits is not None:
            serving, seconds = waits
            backlog[serving] = 0.0
            np.maximum.at(backlog, serving, np.minimum(seconds, _MOST_BACKLOG_SECONDS))

    def _judge(self, pod: PodRecord, backlog: float) -> None:
        failing = [probe for probe in _probes_of(pod.shape) if backlog > probe.timeout_seconds]
        if not failing:
            self._recover(pod.uid)
            return
        now = self._world.now
        since = self._failing_since.setdefault(pod.uid, now)
        for probe in failing:
            if now - since < probe.patience_seconds:
                continue
            if probe.kind == "liveness":
                self._failing_since.pop(pod.uid, None)
                self._silent.pop(pod.uid, None)
                self._kubelet.fail_liveness(pod.uid)
                return
            if pod.ready:
                self._silent[pod.uid] = None
                self._kubelet.answer_probes(pod.uid, ready=False)

    def _recover(self, uid: str) -> None:
        self._failing_since.pop(uid, None)
        if uid in self._silent:
            del self._silent[uid]
            self._kubelet.answer_probes(uid, ready=True)


class _Probe(NamedTuple):
    """A probe of a container."""

    kind: str
    timeout_seconds: float
    patience_seconds: float
    """Of failing tries that it bears."""


@lru_cache(maxsize=1_024)  # pods with equal specs share a shape
def _probes_of(shape: PodShape) -> tuple[_Probe, ...]:
    return tuple(
        _probe(kind, container[f"{kind}Probe"])
        for container in shape.spec["containers"]
        for kind in ("readiness", "liveness")
        if f"{kind}Probe" in container
    )


def _probe(kind: str, spec: Object) -> _Probe:
    patience = float(spec.get("failureThreshold") or 3) * float(spec.get("periodSeconds") or 10)
    return _Probe(kind, float(spec.get("timeoutSeconds") or 1), patience)
