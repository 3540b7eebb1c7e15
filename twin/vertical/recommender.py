"""The recommender: once a minute it reads metrics and writes recommendations into its objects.

It follows pods below an object only, from when that is made on (--memory-saver); a container's samples
are what metrics.k8s.io shows, out-of-memory kills what the pods' statuses show.
Source: recommender/routines/recommender.go, recommender/input/cluster_feeder.go, oom/observer.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from twin.changes import Change
from twin.config.vertical import VerticalConfig
from twin.part import Part
from twin.provisioners.client import Client
from twin.records import Object, ObjectRecord, PodRecord
from twin.timestamps import rfc3339
from twin.vertical.estimation import ContainerState, Estimate, History, estimates
from twin.vertical.objects import (
    CONTROLLED,
    RESOURCE,
    capped,
    container_policy,
    target_selector,
    texts_of,
)

Sample = Callable[[str], tuple[float, float, float] | None]
"""Pod uid to (millicores, bytes, unix seconds of the scrape) as metrics.k8s.io shows it."""
_KIB = 1_024


class Recommender(Part):
    """Keeps histories and writes recommendations."""

    KEEPS = ("histories", "_containers", "_kills")

    def __init__(self, config: VerticalConfig, client: Client, sample: Sample) -> None:
        self._config = config
        self._client = client
        self._sample = sample
        self.histories: dict[str, dict[str, History]] = {}
        """By uid of the object and container name."""
        self._containers: dict[str, dict[str, dict[str, ContainerState]]] = {}  # and by pod uid
        self._kills: list[tuple[str, float, int]] = []  # pod uid, time and requested bytes

    def note_kill(self, change: Change) -> None:
        """Take note of a container that has just been killed for want of memory."""
        pod, before = change.record, change.before
        if not isinstance(pod, PodRecord) or not isinstance(before, PodRecord):
            return
        ended = pod.ended
        if ended is not None and ended is not before.ended and ended.reason == "OOMKilled":
            requested = before.actual.memory_request_bytes // len(before.shape.containers)
            self._kills.append((pod.uid, ended.finished_at, requested))

    def run(self) -> None:
        """Read samples and kills, and write every object's status."""
        kills, self._kills = self._kills, []
        objects = list(self._client.objects(RESOURCE))
        known = {vpa.uid for vpa in objects}
        for kept in (self.histories, self._containers):
            for uid in [uid for uid in kept if uid not in known]:
                del kept[uid]
        for vpa in objects:
            selector = target_selector(self._client, vpa)
            pods = [] if isinstance(selector, str) else self._running_pods(vpa, selector)
            self._read(vpa.uid, pods, kills)
            problem = selector if isinstance(selector, str) else ""
            self._write(vpa, len(pods), problem)

    def _running_pods(self, vpa: ObjectRecord, selector: Object) -> list[PodRecord]:
        pods = self._client.select_pods(vpa.namespace, selector)
        return [pod for pod in pods if pod.phase == "Running"]

    def _read(self, uid: str, pods: list[PodRecord], kills: list[tuple[str, float, int]]) -> None:
        before = self._containers.get(uid, {})
        states = {
            pod.uid: before.get(pod.uid)
            or {name: ContainerState() for name in pod.shape.containers}
            for pod in pods
        }
        histories = self.histories.setdefault(uid, {})
        for pod in pods:
            for name, state in states[pod.uid].items():
                history = histories.get(name)
                if history is None:
                    history = histories[name] = History.empty(self._config)
                self._add_sample(pod, state, history)
        for pod_uid, at, requested in kills:
            for name, state in (states.get(pod_uid) or before.get(pod_uid) or {}).items():
                state.add_oom(histories[name], requested, at, self._config)
        self._containers[uid] = states

    def _add_sample(self, pod: PodRecord, state: ContainerState, history: History) -> None:
        sample = self._sample(pod.uid)
        if sample is None:
            return
        cpu, memory, at = sample
        count = len(pod.shape.containers)
        state.add_cpu(history, math.ceil(cpu / count) / 1_000.0, at)
        used = float(int(memory / count) // _KIB * _KIB)
        state.add_memory(history, used, at, self._config.peak_seconds)

    # ---- what it writes

    def _write(self, vpa: ObjectRecord, pods: int, problem: str) -> None:
        wanted = {
            name: history
            for name, history in self.histories[vpa.uid].items()
            if container_policy(vpa, name).get("mode") != "Off"
        }
        rows = [
            _row(vpa, name, estimate) for name, estimate in estimates(wanted, self._config).items()
        ]
        status = vpa.body.get("status") or {}
        conditions = self._conditions(status, provided=bool(rows), pods=pods, problem=problem)
        recommendation: Object = {"containerRecommendations": rows} if rows else {}
        new: Object = {"conditions": conditions, "recommendation": recommendation}
        new["observedGeneration"] = vpa.generation
        self._client.set_object(RESOURCE, vpa, status=new)

    def _conditions(
        self, status: Object, *, provided: bool, pods: int, problem: str
    ) -> list[Object]:
        known = {entry["type"]: entry for entry in status.get("conditions") or ()}
        missing = ("NoPodsMatched", "No pods match this VPA object")
        wanted: dict[str, tuple[bool, str, str]] = {}
        if problem:
            text = f"Cannot read targetRef. Reason: {problem}"
            parent = problem.startswith("The target ")
            wanted["ConfigUnsupported"] = (True, "", problem if parent else text)
        if not pods:
            wanted["NoPodsMatched"] = (True, *missing)
        why = ("", "") if provided or pods else missing
        wanted["RecommendationProvided"] = (provided, *why)
        return [self._condition(known.get(kind), kind, *wanted[kind]) for kind in sorted(wanted)]

    def _condition(
        self, before: Object | None, kind: str, truth: bool, reason: str, message: str
    ) -> Object:
        text = "True" if truth else "False"
        same = before is not None and before["status"] == text
        at = before["lastTransitionTime"] if before is not None and same else None
        condition: Object = {
            "type": kind,
            "status": text,
            "lastTransitionTime": at or rfc3339(self._client.now),
        }
        if reason:
            condition["reason"] = reason
        if message:
            condition["message"] = message
        return condition


def _row(vpa: ObjectRecord, name: str, estimate: Estimate) -> Object:
    policy = container_policy(vpa, name)
    names = policy.get("controlledResources")
    names = CONTROLLED if names is None else tuple(names)
    row: Object = {"containerName": name}
    for field, amounts in (
        ("lowerBound", estimate.lower),
        ("target", estimate.target),
        ("upperBound", estimate.upper),
    ):
        bounded = {key: capped(policy, key, amount) for key, amount in amounts.items()}
        row[field] = texts_of(bounded, names)
    row["uncappedTarget"] = texts_of(estimate.target, names)
    return row
