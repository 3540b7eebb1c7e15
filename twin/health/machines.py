"""Machines that fail: alone or with their rack or zone, after signs or without, once or again and again.

Without a sign: most failures of nodes, all of racks and zones. With signs: a machine gets slow and its
kernel complains (KubeEvent TaskHung), and some time later it fails. A sign proves nothing: other machines
get slow, complain, and recover.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from twin.behaviour.impairments import Impairments
from twin.chance import Draws, key_of
from twin.controllers.node_lifecycle import NodeLifecycle
from twin.health.places import rack_of, zone_of
from twin.health.weather import LOOK_SECONDS, Kind, WeatherLevel
from twin.part import Part
from twin.records import NodeRecord
from twin.scheduling.node_table import NodeTable
from twin.world import World

_DAYS_A_YEAR = 365.25
_FASTEST_SLOW = 0.8
_COMPLAINT = "INFO: task kworker blocked for more than 120 seconds."
_COMPONENT = "kernel-monitor"


class MachineHealth(Part):
    """Fails nodes and slows them down."""

    KEEPS = ("_slow",)
    LEAVES = ("_details",)

    def __init__(
        self,
        world: World,
        sky: WeatherLevel,
        nodes: NodeTable,
        lifecycle: NodeLifecycle,
        impairments: Impairments,
    ) -> None:
        self._world = world
        self._config = world.config.health
        self._sky = sky
        self._nodes = nodes
        self._lifecycle = lifecycle
        self._impairments = impairments
        self._slow: dict[str, float] = {}  # nodes that show signs, and until when
        self._failures = self._draws("node failures")
        self._slowness = self._draws("slow nodes")
        self._racks = self._draws("rack failures")
        self._zones = self._draws("zone failures")
        self._details = {name: self._draws(name) for name in _DETAILS}
        sky.add(self._look)
        for name, handler in (
            ("fail", self._fail),
            ("slow", self._begin_slow),
            ("complain", self._complain),
            ("end_slow", self._end_slow),
        ):
            world.clock.handle(f"health.{name}", handler)

    def _draws(self, concern: str) -> Draws:
        return self._world.chance.draws(f"health: {concern}")

    def _detail(self, name: str, entity: int, number: int) -> float:
        return self._details[name].uniform(entity, number)

    def _look(self, number: int) -> None:
        for name, key in self._hit_nodes(self._failures, _DAYS_A_YEAR / self._config.node_mttf_days,
                                         number):  # fmt: skip
            self._plan_failure(name, key, number)
        for name, key in self._hit_nodes(self._slowness, self._config.slow_per_node_year, number):
            self._plan_slowness(name, key, number)
        self._look_at_places(number)

    def _hit_nodes(self, draws: Draws, per_year: float, number: int) -> Iterator[tuple[str, int]]:
        """Yield the names and keys of the nodes to which it happens within this look."""
        nodes = self._nodes
        keys = nodes.keys[: nodes.count]
        hit = draws.uniforms_of(keys, number) < self._sky.chance(per_year)
        for row in np.flatnonzero(hit & nodes.present[: nodes.count]).tolist():
            yield nodes.names[row], int(keys[row])

    def _plan_failure(self, name: str, key: int, number: int) -> None:
        config, clock = self._config, self._world.clock
        wait = LOOK_SECONDS * self._detail("moment", key, number)
        seconds = self._details["outage"].exponential(config.node_down_mean_seconds, key, number)
        flapping = self._detail("flapping", key, number) < config.flapping_ratio
        if self._detail("foreseen", key, number) < self._sky.share(config.foreseen_ratio):
            lead = self._details["lead"].exponential(config.sign_mean_seconds, key, number)
            clock.after(wait, "health.slow", name, number, config.sign_speed_ratio, lead)
            wait += lead
        cause = ("flap" if flapping else "node", name)
        clock.after(wait, "health.fail", name, seconds, config.flaps if flapping else 0, *cause)

    def _plan_slowness(self, name: str, key: int, number: int) -> None:
        config, clock = self._config, self._world.clock
        wait = LOOK_SECONDS * self._detail("slow moment", key, number)
        lasts = self._details["slow time"].exponential(config.slow_mean_seconds, key, number)
        span = _FASTEST_SLOW - config.slow_least_ratio
        ratio = config.slow_least_ratio + span * self._detail("slow speed", key, number)
        clock.after(wait, "health.slow", name, number, ratio, lasts)
        if self._detail("slow end", key, number) < config.slow_dies_ratio:
            seconds = self._details["outage"].exponential(config.node_down_mean_seconds, key, -1)
            clock.after(wait + lasts, "health.fail", name, seconds, 0, "node", name)

    def _look_at_places(self, number: int) -> None:
        config = self._config
        racks: dict[str, list[str]] = {}
        zones: dict[str, list[str]] = {}
        for node in self._world.store.records("nodes"):
            rack = rack_of(node.name, node.labels, config.rack_nodes)
            racks.setdefault(rack, []).append(node.name)
            zones.setdefault(zone_of(node.labels), []).append(node.name)
        limit = self._sky.chance(1.0 / config.rack_mttf_years)
        for rack, names in racks.items():
            if rack and self._racks.uniform(rack, number) < limit:
                key = key_of("rack", rack)
                mean = config.node_down_mean_seconds
                seconds = self._details["outage"].exponential(mean, key, number)
                self._fail_together(names, key, number, (1.0, seconds), ("rack", rack))
        limit = self._sky.chance(config.zone_failures_per_year)
        for zone, names in zones.items():
            if zone and self._zones.uniform(zone, number) < limit:
                key, share = key_of("zone", zone), config.zone_hit_ratio
                how = (share, config.zone_down_seconds)
                self._fail_together(names, key, number, how, ("zone", zone))

    def _fail_together(
        self,
        names: list[str],
        key: int,
        number: int,
        how: tuple[float, float],
        cause: tuple[str, str],
    ) -> None:
        """Fail a share of nodes within a burst, for seconds; they are back at about the same time."""
        share, seconds = how
        start = LOOK_SECONDS * self._detail("moment", key, number)
        for name in names:
            own = key ^ key_of(name)
            if self._detail("hit", own, number) < share:
                wait = start + self._config.burst_seconds * self._detail("burst", own, number)
                self._world.clock.after(wait, "health.fail", name, seconds, 0, *cause)

    # ---- one handler per event

    def _fail(self, name: str, seconds: float, flaps: int, kind: Kind, place: str) -> None:
        if self._world.node(name) is None:
            return
        if flaps:
            pause = self._config.flap_seconds
            seconds = min(seconds, pause)
            again = (name, pause, flaps - 1, kind, place)
            self._world.clock.after(seconds + pause, "health.fail", *again)
        if self._world.up(name):
            self._sky.report(kind, place, seconds)
            self._lifecycle.fail(name, seconds)

    def _begin_slow(self, name: str, number: int, ratio: float, seconds: float) -> None:
        if self._world.node(name) is None or name in self._slow:
            return
        mark = -(key_of(name, number) >> 1)  # scenarios have the positive numbers
        self._slow[name] = self._world.now + seconds
        self._sky.report("slow", name, seconds)
        self._impairments.begin(mark, "speed", (name,), ratio)
        self._world.clock.after(seconds, "health.end_slow", name, mark)
        self._complain(name)

    def _complain(self, name: str) -> None:
        world, node = self._world, self._world.node(name)
        if name not in self._slow or node is None:
            return
        if world.up(name):
            assert isinstance(node, NodeRecord)
            world.reporter.report(node, "Node", "TaskHung", _COMPLAINT, _COMPONENT)
        if world.now + self._config.complaint_seconds < self._slow[name]:
            world.clock.after(self._config.complaint_seconds, "health.complain", name)

    def _end_slow(self, name: str, mark: int) -> None:
        self._impairments.end(mark)
        self._slow.pop(name, None)


_DETAILS = (
    "moment", "outage", "flapping", "foreseen", "lead", "slow moment", "slow time", "slow speed",
    "slow end", "hit", "burst",
)  # fmt: skip
