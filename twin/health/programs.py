"""Programs: how long they take to answer and to get warm, what they leak, and when they crash.

By image: how long a start takes, and outbreaks in which all pods of an image crash. By workload: leaks.
By pod: crashes of its own. Foreseeable: a leak, whose working set grows for hours before the kernel kills
it. Not foreseeable: crashes and outbreaks. Images of the workloads' own pods stand for nothing, so there
the workload counts as the image.
"""

from __future__ import annotations

import math

import numpy as np

from twin.behaviour.kubelet import Kubelet
from twin.behaviour.usage_table import UsageTable
from twin.chance import Draws
from twin.health.weather import LOOK_SECONDS, Kind, WeatherLevel
from twin.part import Part
from twin.records import PodRecord
from twin.world import World

_STAND_IN = "workload.foresail.dev/"
_DAYS_A_YEAR = 365.25


class ProgramHealth(Part):
    """Sets what a container that starts will suffer from, and lets running ones crash."""

    KEEPS = ()

    def __init__(
        self, world: World, sky: WeatherLevel, usage: UsageTable, kubelet: Kubelet
    ) -> None:
        self._world = world
        self._config = world.config.health
        self._sky = sky
        self._usage = usage
        self._kubelet = kubelet
        self._crashes = self._draws("crashes")
        self._crash_moments = self._draws("crash moments")
        self._outbreaks = self._draws("image outbreaks")
        self._outbreak_moments = self._draws("outbreak moments")
        self._leaks = self._draws("leaks")
        self._leak_times = self._draws("leak times")
        self._answers = self._draws("answers of an image")
        self._own_answers = self._draws("answers of a start")
        self._warmth = self._draws("warm-up of an image")
        sky.add(self._look)
        kubelet.answer_seconds = self.answer_seconds
        kubelet.started = self._start
        world.clock.handle("health.crash", self._crash)

    def _draws(self, concern: str) -> Draws:
        return self._world.chance.draws(f"health: {concern}")

    def answer_seconds(self, pod: PodRecord) -> float:
        """Return the time from a container's start until it answers its probes."""
        config = self._config
        if self._sky.level == "off":
            return self._world.config.kubelet.probe_answer_seconds
        spread = config.answer_image_sigma * self._answers.normal(image_of(pod))
        spread += config.answer_pod_sigma * self._own_answers.normal(pod.uid, pod.restart_count)
        return config.answer_median_seconds * math.exp(spread)

    def _start(self, pod: PodRecord, row: int) -> None:
        """Write down what a service that has just started leaks, and how long it is cold."""
        if self._sky.level == "off" or pod.shape.restart_policy != "Always":
            return
        config, workload, usage = self._config, workload_of(pod), self._usage
        usage["warm_seconds"][row] = self._warmth.exponential(
            config.warm_mean_seconds, image_of(pod)
        )
        if self._leaks.uniform(workload) < self._sky.share(config.leaking_ratio):
            seconds = self._leak_times.lognormal(config.leak_median_seconds, 1.0, workload)
            usage["leak"][row] = usage["memory_mean"][row] / seconds
            self._sky.report("leak", pod.name, math.inf)

    def _look(self, number: int) -> None:
        config, usage = self._config, self._usage
        rows = usage.rows()
        keys = usage.key[rows]
        limit = self._sky.chance(config.pod_crashes_per_day * _DAYS_A_YEAR)
        hit = self._crashes.uniforms_of(keys, number) < limit
        for row in rows[np.flatnonzero(hit)].tolist():
            self._plan_crash(usage.uids[row], number, (0.0, LOOK_SECONDS), "crash")
        limit = self._sky.chance(config.image_outbreaks_per_year)
        struck: dict[str, float] = {}
        for row in rows.tolist():
            pod = self._world.pods[usage.uids[row]]
            image = image_of(pod)
            if image not in struck:
                broke = self._outbreaks.uniform(image, number) < limit
                start = self._outbreak_moments.uniform(image, number) * LOOK_SECONDS
                struck[image] = start if broke else -1.0
            if struck[image] >= 0.0:
                span = (struck[image], config.burst_seconds)
                self._plan_crash(pod.uid, number, span, "outbreak")

    def _plan_crash(self, uid: str, number: int, span: tuple[float, float], kind: Kind) -> None:
        """Plan one for a moment within a span, given as its begin and length from now."""
        wait = span[0] + span[1] * self._crash_moments.uniform(uid, number)
        self._world.clock.after(wait, "health.crash", uid, kind)

    def _crash(self, uid: str, kind: Kind) -> None:
        if uid in self._usage.row_of:
            self._sky.report(kind, self._world.pods[uid].name, 0.0)
            self._kubelet.crash(uid)


def image_of(pod: PodRecord) -> str:
    """Return what stands for the program of a pod: its first image, or its workload."""
    image = pod.shape.images[0] if pod.shape.images else ""
    return workload_of(pod) if not image or image.startswith(_STAND_IN) else image


def workload_of(pod: PodRecord) -> str:
    """Return the uid of a pod's controller, or its own."""
    return pod.controller_uid() or pod.uid
