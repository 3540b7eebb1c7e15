"""The updater: once a minute it evicts pods, or resizes them in place, so that they get what is recommended.

Source: updater/logic/updater.go, updater/restriction/pods_eviction_restriction.go and
pods_inplace_restriction.go. Not modelled: eviction requirements, the alpha mode InPlace, rate limits (off
by default).
"""

from __future__ import annotations

from twin.config.vertical import VerticalConfig
from twin.part import Part
from twin.provisioners.client import Client
from twin.records import ObjectRecord, PodRecord
from twin.vertical.groups import Group, groups_of
from twin.vertical.objects import (
    KIND,
    RESOURCE,
    controlling_object_of,
    current_resources,
    update_mode,
    wanted_resources,
)
from twin.vertical.priority import pods_to_update

_IN_PLACE = "InPlaceOrRecreate"
_EVICTED = "Pod was evicted by VPA Updater to apply resource recommendation."


class Updater(Part):
    """Applies recommendations to running pods."""

    KEEPS = ("_seen",)

    def __init__(self, config: VerticalConfig, client: Client) -> None:
        self._config = config
        self._client = client
        self._seen: dict[str, float] = {}  # pods by uid, and when one was first seen resizing

    def run(self) -> None:
        """Look at every object once."""
        objects = {
            vpa.uid: vpa
            for vpa in self._client.objects(RESOURCE)
            if update_mode(vpa) in ("Recreate", _IN_PLACE)
        }
        by_object: dict[str, list[PodRecord]] = {uid: [] for uid in objects}
        for namespace in sorted({vpa.namespace for vpa in objects.values()}):
            for pod in self._client.pods_in(namespace):
                if not pod.node_name or pod.terminal or pod.deletion_at is not None:
                    continue
                vpa = controlling_object_of(self._client, pod)
                if vpa is not None and vpa.uid in objects:
                    by_object[vpa.uid].append(pod)
        live = {pod.uid for pods in by_object.values() for pod in pods}
        self._seen = {uid: at for uid, at in self._seen.items() if uid in live}
        for uid, pods in by_object.items():
            self._update(objects[uid], pods)

    def _update(self, vpa: ObjectRecord, pods: list[PodRecord]) -> None:
        groups = groups_of(self._client, vpa, pods, self._config)
        if update_mode(vpa) == _IN_PLACE:
            candidates = [pod for pod in pods if self._in_place(pod, vpa, groups) != "wait"]
            doomed = []
            for pod in self._in_order(vpa, candidates):
                verdict = self._in_place(pod, vpa, groups)
                if verdict == "evict" or (
                    verdict == "resize" and not self._resize(vpa, pod, groups)
                ):
                    doomed.append(pod)
        else:
            candidates = [pod for pod in pods if self._may_evict(pod, groups)]
            doomed = self._in_order(vpa, candidates)
        for pod in doomed:
            if self._may_evict(pod, groups):
                self._evict(vpa, pod, groups[pod.uid])

    def _in_order(self, vpa: ObjectRecord, pods: list[PodRecord]) -> list[PodRecord]:
        return pods_to_update(vpa, pods, self._client.now, self._config)

    # ---- eviction

    def _may_evict(self, pod: PodRecord, groups: dict[str, Group]) -> bool:
        group = groups.get(pod.uid)
        if group is None:
            return False
        if pod.phase == "Pending":
            return True
        if _is_resizing(pod):
            return self._has_stalled(pod, group)
        return group.disruptable

    def _evict(self, vpa: ObjectRecord, pod: PodRecord, group: Group) -> None:
        if self._client.evict(pod) is not None:
            return
        self._client.report(pod, "Pod", "EvictedByVPA", _EVICTED)
        text = f"VPA Updater evicted Pod {pod.name} to apply resource recommendation."
        self._client.report(vpa, KIND, "EvictedPod", text)
        if pod.phase != "Pending":
            group.evicted += 1

    # ---- in place

    def _in_place(self, pod: PodRecord, vpa: ObjectRecord, groups: dict[str, Group]) -> str:
        """Return `resize`, `evict` or `wait`."""
        group = groups.get(pod.uid)
        status = vpa.body.get("status") or {}
        if group is None or pod.phase == "Pending" or not status.get("recommendation"):
            return "wait"
        if _is_resizing(pod):
            return "evict" if self._has_stalled(pod, group) else "wait"
        return "resize" if group.disruptable else "wait"

    def _has_stalled(self, pod: PodRecord, group: Group) -> bool:
        """True when a resize has failed or takes too long, and the pod may go."""
        since = self._seen.setdefault(pod.uid, self._client.now)
        resize, waited = pod.resize, self._client.now - since
        if resize is None or not group.disruptable:
            return False
        if resize.pending is not None:
            infeasible = resize.pending.reason == "Infeasible"
            return infeasible or waited > self._config.deferred_seconds
        if resize.in_progress is None:
            return False
        failed = resize.in_progress.reason == "Error"
        return failed or waited > self._config.in_progress_seconds

    def _resize(self, vpa: ObjectRecord, pod: PodRecord, groups: dict[str, Group]) -> bool:
        """Ask for other amounts; False when the API server refuses, or there is nothing to ask."""
        wanted = wanted_resources(vpa, current_resources(pod))
        if not wanted or self._client.resize(pod, wanted) is not None:
            return False
        text = "Pod was resized in place by VPA Updater."
        self._client.report(pod, "Pod", "InPlaceResizedByVPA", text)
        groups[pod.uid].resized += 1
        return True


def _is_resizing(pod: PodRecord) -> bool:
    return pod.resize is not None and pod.resize.noticed
