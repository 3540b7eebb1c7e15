"""Settings of the weather: how often machines and programs go wrong by themselves, each with its source.

A figure from a study names it; every other one says that it is invented. Nothing here was fitted to the
traces that ship with the project: none of them says why a machine failed or what was seen before.
docs/twin/health.md is generated from these sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Weather = Literal["off", "mild", "rough"]
WEATHERS: tuple[Weather, ...] = ("off", "mild", "rough")


@dataclass(frozen=True, slots=True)
class HealthConfig:
    """What goes wrong by itself; seconds are cluster seconds. Rates are those of mild weather."""

    weather: Weather = "off"
    """off: nothing. mild: the rates below. rough: more of it. Off for an engine that nobody asked, mild
    for `foresail up` and experiments."""
    rough_rate_factor: float = 100.0
    """How much more often events come in rough weather; invented, so that a day of 100 nodes holds dozens."""
    rough_share_factor: float = 5.0
    """How much larger the shares of leaking workloads and foreseen failures are in rough weather, up to
    all; invented."""
    node_mttf_days: float = 129.0
    """Mean time between failures of a node: 4.3 months (Ford et al., Availability in Globally Distributed
    Storage Systems, OSDI 2010, table 2)."""
    node_down_mean_seconds: float = 391.0
    """Mean time until it is back, exponential: less than 10 % of outages last longer than 15 min (Ford et
    al. 2010, section 1)."""
    foreseen_ratio: float = 0.26
    """Share of node failures that signs precede: prediction avoided 26 % of the interruptions of virtual
    machines (Microsoft Azure, Narya, 2021), so at least so many have some."""
    sign_mean_seconds: float = 7_200.0
    """Mean time from the first sign to the failure, exponential; invented."""
    sign_speed_ratio: float = 0.7
    """Speed of a machine that is about to fail; invented."""
    complaint_seconds: float = 600.0
    """Time between two KubeEvents TaskHung of such a machine (a rule of node-problem-detector's
    kernel-monitor.json); the interval is invented."""
    slow_per_node_year: float = 0.0102
    """How often a node becomes slow without failing: 1.02 % a year (Panda et al., IASO, USENIX ATC 2019)."""
    slow_mean_seconds: float = 14_400.0
    """Mean time that it stays slow, exponential; invented."""
    slow_least_ratio: float = 0.2
    """Speed of a slow node is drawn evenly from this to 0.8; invented (Gunawi et al., Fail-Slow at Scale,
    FAST 2018, names no distribution)."""
    slow_dies_ratio: float = 0.3
    """Share of slow nodes that fail at the end; invented."""
    flapping_ratio: float = 0.05
    """Share of failed nodes that come back only to fail again; invented."""
    flaps: int = 4
    """How often such a node fails again; invented."""
    flap_seconds: float = 150.0
    """How long it is up, and down, in between; invented, long enough to be noticed as NotReady."""
    rack_mttf_years: float = 10.2
    """Mean time between failures of a rack: 10.2 years (Ford et al. 2010, table 2)."""
    rack_nodes: int = 40
    """Nodes that share a rack where no label says so, in order of the number in their names: 40 servers a
    rack (Google's clusters, J. Dean at Google I/O 2008)."""
    burst_seconds: float = 120.0
    """All nodes of a rack, or pods of an image, fail within this time (the window of a failure burst in
    Ford et al. 2010, section 4.1; 37 % of node failures are part of one)."""
    zone_failures_per_year: float = 1.0
    """How often power is lost in a zone: one power distribution unit a year and cluster (Dean 2008)."""
    zone_hit_ratio: float = 0.42
    """Share of the zone's nodes that lose it: 500 to 1,000 of 1,800 machines (Dean 2008)."""
    zone_down_seconds: float = 21_600.0
    """How long that lasts: about six hours (Dean 2008)."""
    pod_crashes_per_day: float = 0.01
    """Crashes of a running pod a day, without any sign; invented."""
    image_outbreaks_per_year: float = 1.0
    """How often all pods of an image crash within `burst_seconds`; invented."""
    leaking_ratio: float = 0.02
    """Share of services that leak memory; invented (Lou et al., RESIN, OSDI 2022, finds 24 leaks a month in
    Azure, but gives no base)."""
    leak_median_seconds: float = 43_200.0
    """Median time in which a leaking service grows by its mean memory, log-normal with sigma 1; invented."""
    answer_median_seconds: float = 5.0
    """Median time from a container's start until it answers its probes: a task takes 25 s to start, of
    which installing packages is 80 % (Verma et al., Borg, EuroSys 2015, section 3)."""
    answer_image_sigma: float = 0.8
    """Spread of its logarithm between images; invented."""
    answer_pod_sigma: float = 0.2
    """Spread of its logarithm between starts of one image; invented."""
    warm_mean_seconds: float = 21.0
    """Mean time until a service that has started is warm, exponential over images: 21 s of a Spark query
    (Lion et al., OSDI 2016)."""
    warm_cpu_ratio: float = 1.5
    """CPU that a cold service wants, of what it wants when warm, falling evenly; invented."""
    overload_ratio: float = 0.7
    """Part of the CPU it wants below which a pod falls behind with its probes; invented."""
