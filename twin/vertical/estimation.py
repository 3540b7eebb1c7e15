"""From samples to a recommendation: one container's history, and what follows from it. Pure.

Source: recommender/model/container.go and aggregate_container_state.go (what is counted),
recommender/logic/estimator.go and recommender.go (what follows).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from twin.config.vertical import VerticalConfig
from twin.part import keepable
from twin.vertical.histogram import SAMPLE_WEIGHT, Histogram

MOST = 10**14
"""MaxResourceAmount: millicores or bytes."""
_FIRST_CPU, _FIRST_MEMORY = 0.01, 1e7  # cores, bytes
_MIB = 2**20
Amounts = dict[str, int]
"""Millicores of `cpu`, bytes of `memory`."""


@keepable
@dataclass(slots=True, eq=False)
class History:
    """All samples of the containers of one name below one object."""

    cpu: Histogram
    memory: Histogram
    first_sample: float | None = None
    """Of CPU, unix seconds; memory's do not count."""
    last_sample: float = 0.0
    samples: int = 0

    @classmethod
    def empty(cls, config: VerticalConfig) -> History:
        """Return a history without samples."""
        life = config.half_life_seconds
        return cls(Histogram(_FIRST_CPU, life), Histogram(_FIRST_MEMORY, life))

    def confidence(self, config: VerticalConfig) -> float:
        """Return how many intervals of one sample a minute there are."""
        if self.first_sample is None:
            return 0.0
        lifespan = (self.last_sample - self.first_sample) / config.confidence_seconds
        return min(lifespan, self.samples / (config.confidence_seconds / 60.0))


@keepable
@dataclass(slots=True, eq=False)
class ContainerState:
    """Known facts about one running container; times are unix seconds."""

    cpu_at: float = -math.inf
    memory_at: float = -math.inf
    window_end: float = -math.inf
    """Of the interval in which memory's peak is being taken."""
    memory_peak: float = 0.0
    oom_peak: float = 0.0

    def add_cpu(self, history: History, cores: float, at: float) -> None:
        """Count a sample that is newer than the last one."""
        if at <= self.cpu_at:
            return
        history.cpu.add(cores, SAMPLE_WEIGHT, at)
        history.last_sample = max(history.last_sample, at)
        history.first_sample = at if history.first_sample is None else history.first_sample
        history.samples += 1
        self.cpu_at = at

    def add_memory(
        self, history: History, used: float, at: float, peak_seconds: float, *, oom: bool = False
    ) -> None:
        """Count a sample if it is the interval's new peak; one of a kill always counts."""
        if at < self.memory_at and not oom:
            return
        self.memory_at = at
        if math.isinf(self.window_end):
            self.window_end = at
        if at < self.window_end:
            peak = max(self.memory_peak, self.oom_peak)
            if not peak or used <= peak:
                return
            history.memory.subtract(peak, 1.0, self.window_end)
        else:
            passed = math.floor((at - self.window_end) / peak_seconds) + 1
            self.window_end += passed * peak_seconds
            self.memory_peak = self.oom_peak = 0.0
        history.memory.add(used, 1.0, self.window_end)
        if oom:
            self.oom_peak = used
        else:
            self.memory_peak = used

    def add_oom(
        self, history: History, requested: float, at: float, config: VerticalConfig
    ) -> None:
        """Count a kill for want of memory as a sample above what was there."""
        if at < self.memory_at - config.peak_seconds:
            return
        used = max(requested, self.memory_peak)
        needed = max(used + config.oom_least_bytes, float(int(used * config.oom_ratio)))
        self.add_memory(history, needed, at, config.peak_seconds, oom=True)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is recommended for one container."""

    target: Amounts
    lower: Amounts
    upper: Amounts


def estimates(histories: Mapping[str, History], config: VerticalConfig) -> dict[str, Estimate]:
    """Return what follows for the containers of a pod, by name."""
    share = 1.0 / max(1, len(histories))
    least = {
        "cpu": _scale_amount(int(config.least_cpu_millicores), share),
        "memory": _scale_amount(int(config.least_memory_mib * _MIB), share),
    }
    return {name: _estimate(history, least, config) for name, history in sorted(histories.items())}


def _estimate(history: History, least: Amounts, config: VerticalConfig) -> Estimate:
    confidence = history.confidence(config)
    wider = 1.0 + 1.0 / confidence if confidence else math.inf
    narrower = (1.0 + 0.001 / confidence) ** -2.0 if confidence else 0.0
    found = []
    for percentile, factor in (
        (config.target_percentile, 1.0),
        (config.lower_percentile, narrower),
        (config.upper_percentile, wider),
    ):
        cores = history.cpu.percentile(percentile)
        amounts = {
            "cpu": _whole(cores * 1_000.0),
            "memory": _whole(history.memory.percentile(percentile)),
        }
        found.append(
            {
                name: max(
                    least[name],
                    _scale_amount(base + _scale_amount(base, config.margin_ratio), factor),
                )
                for name, base in amounts.items()
            }
        )
    return Estimate(*found)


def _scale_amount(amount: int, factor: float) -> int:
    return _whole(amount * factor) if amount else 0


def _whole(amount: float) -> int:
    return MOST if amount > MOST else int(max(0.0, amount))
