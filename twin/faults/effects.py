"""What each kind of fault does to nodes, images and metrics when it begins."""

from __future__ import annotations

import math
from dataclasses import dataclass

from twin.behaviour.impairments import Impairments
from twin.controllers.node_lifecycle import NodeLifecycle
from twin.controllers.node_shutdown import NodeShutdown as Shutdown
from twin.controllers.spot import Spot
from twin.faults.scenario import (
    ClockSkew,
    Fault,
    ImagePullFailure,
    MetricsGap,
    MetricsStale,
    NodeDeath,
    NodeShutdown,
    SlowNode,
    SpotNotice,
    Traffic,
    Weather,
)
from twin.health.weather import WeatherLevel
from twin.serving.serving import Serving
from twin.serving.traffic_changes import TrafficChange


@dataclass(frozen=True, slots=True)
class FaultTargets:
    """The parts of a cluster in which something can be made to go wrong."""

    impairments: Impairments
    lifecycle: NodeLifecycle
    shutdown: Shutdown
    spot: Spot
    spot_notice_seconds: float
    sky: WeatherLevel
    serving: Serving

    def begin(self, number: int, key: int, fault: Fault, nodes: tuple[str, ...]) -> None:
        """Let a fault take hold of `nodes`; those that act on requests to the API do nothing here. `key` is
        that of its draws.
        """
        match fault:
            case NodeDeath():
                for name in nodes:
                    self.lifecycle.fail(name, _seconds(fault.duration_seconds))
            case NodeShutdown():
                lasts = _seconds(fault.duration_seconds)
                for name in nodes:
                    self.shutdown.begin(name, fault.grace_seconds, lasts)
            case SpotNotice():
                for name in nodes:
                    self.spot.reclaim(name, fault.notice_seconds or self.spot_notice_seconds)
            case Weather():
                self.sky.ask(number, fault.level)
            case Traffic():
                self.serving.change_traffic(number, self._change_of(fault, key))
            case _:
                self._impair(number, fault, nodes)

    def _change_of(self, fault: Traffic, key: int) -> TrafficChange:
        names = tuple(name if "/" in name else f"default/{name}" for name in fault.services)
        return TrafficChange(names, fault.factor, fault.traffic, self.serving.now, key)

    def _impair(self, number: int, fault: Fault, nodes: tuple[str, ...]) -> None:
        match fault:
            case SlowNode():
                self.impairments.begin(number, "speed", nodes, fault.speed_ratio)
            case ClockSkew():
                self.impairments.begin(number, "skew", nodes, fault.skew_seconds)
            case ImagePullFailure():
                self.impairments.begin(number, "image", nodes, patterns=fault.images)
            case MetricsGap(nodes=None):
                self.impairments.begin(number, "metrics down")
            case MetricsGap():
                self.impairments.begin(number, "metrics gap", nodes)
            case MetricsStale():
                self.impairments.begin(number, "metrics stale", nodes)
            case _:
                pass

    def end(self, number: int) -> None:
        """Let go; machines that died come back by themselves."""
        self.impairments.end(number)
        self.sky.release(number)
        self.serving.end_change(number)


def _seconds(duration: float | None) -> float:
    return math.inf if duration is None else duration
