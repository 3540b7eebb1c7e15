"""The most that watched pods used lately, container by container."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

MOST_GAP_SECONDS = 120.0
"""Samples further apart leave it open what was used in between; what came before counts no more."""
MOST_PODS = 50
"""Watched at a time; the one that was wished for longest ago goes first."""
WATCHED_WINDOWS = 2.0
"""A pod is watched for so many windows after the last wish."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement of a pod."""

    time_seconds: float
    """When it was measured, cluster time."""
    usage: dict[str, tuple[float, int]]
    """By container: cores and bytes."""
    source: str = ""
    """Who measured it: `metrics_server` or `prometheus`."""
    window_seconds: float = 0.0
    """Seconds before its time over which cores are a mean; 0: it does not say."""


@dataclass(slots=True)
class _Watched:
    namespace: str
    name: str
    wished_seconds: float
    samples: list[Sample] = field(default_factory=list)


class UsagePeaks:
    """Samples of pods for which a resize was wished; kept by the pod's uid."""

    def __init__(self, window_seconds: float) -> None:
        """Keep samples of the last two windows."""
        self._window_seconds = window_seconds
        self._pods: OrderedDict[str, _Watched] = OrderedDict()

    def watch(self, namespace: str, name: str, uid: str, now_seconds: float) -> bool:
        """Watch a pod from now on; return whether it was not watched before."""
        known = self._pods.pop(uid, None)
        self._pods[uid] = known or _Watched(namespace, name, now_seconds)
        self._pods[uid].wished_seconds = now_seconds
        while len(self._pods) > MOST_PODS:
            self._pods.popitem(last=False)
        return known is None

    def watched(self, now_seconds: float) -> tuple[tuple[str, str, str], ...]:
        """Return namespace, name and uid of every pod that is watched; forget those long not wished for."""
        kept_seconds = WATCHED_WINDOWS * self._window_seconds
        for uid in list(self._pods):
            if now_seconds - self._pods[uid].wished_seconds > kept_seconds:
                del self._pods[uid]
        return tuple((one.namespace, one.name, uid) for uid, one in self._pods.items())

    def add(self, uid: str, sample: Sample) -> None:
        """Note a measurement; one that is there already, or older, changes nothing."""
        pod = self._pods.get(uid)
        if pod is None:
            return
        if pod.samples and sample.time_seconds <= pod.samples[-1].time_seconds:
            return
        if pod.samples and sample.time_seconds - pod.samples[-1].time_seconds > MOST_GAP_SECONDS:
            pod.samples.clear()
        pod.samples.append(sample)
        oldest = sample.time_seconds - WATCHED_WINDOWS * self._window_seconds
        pod.samples[:] = [one for one in pod.samples if one.time_seconds >= oldest]

    def known_seconds(self, uid: str) -> float:
        """Return for how long a pod's usage is known without a gap."""
        pod = self._pods.get(uid)
        if pod is None or not pod.samples:
            return 0.0
        return pod.samples[-1].time_seconds - pod.samples[0].time_seconds

    def newest(self, uid: str) -> Sample | None:
        """Return a pod's newest measurement; None before the first."""
        pod = self._pods.get(uid)
        return pod.samples[-1] if pod is not None and pod.samples else None

    def of(self, uid: str) -> dict[str, tuple[float, int]]:
        """Return the most cores and bytes of each container in what is kept."""
        pod = self._pods.get(uid)
        peaks: dict[str, tuple[float, int]] = {}
        for sample in () if pod is None else pod.samples:
            for name, (cores, size) in sample.usage.items():
                most = peaks.get(name, (0.0, 0))
                peaks[name] = (max(most[0], cores), max(most[1], size))
        return peaks
