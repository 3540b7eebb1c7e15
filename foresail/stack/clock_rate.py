"""How fast the clock of a watched cluster runs: ages belong in its time, not in ours.

A real cluster's clock runs as ours does. A simulated one may run faster, and then a minute of silence is ten of its
minutes: each signal looks old, and nothing is decided.
"""

from __future__ import annotations

import math
from pathlib import Path

from bus.clock import Clock
from foresail.settings import StackSettings
from projections.figures import number
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.official_client import OfficialClientTransport

WATCHED_SECONDS = 2.0
"""Wall seconds between the two answers that are compared; `Date` headers are cut to the second."""
SAME_RATE = (0.4, 1.6)
"""What two such headers may say of a clock that runs as fast as ours, with an answer that comes late."""
FASTEST = 3_600.0


async def with_clock_rate(settings: StackSettings, clock: Clock) -> StackSettings:
    """Return the settings with the speed of the user's cluster, unless it was given or is a wall clock's."""
    run = settings.run
    if run.kubeconfig is None or run.speed is not None:
        return settings
    transport = OfficialClientTransport(Path(run.kubeconfig), run.context)
    try:
        speed = await clock_rate(transport, clock)
    finally:
        await transport.close()
    if speed is None:
        return settings
    return settings.model_copy(update={"run": run.model_copy(update={"speed": speed})})


async def clock_rate(transport: Transport, clock: Clock) -> float | None:
    """Return the cluster's seconds in a second of `clock`, to two digits; None where two answers do not tell."""
    try:
        first, began = await _answer(transport, clock)
        await clock.sleep(WATCHED_SECONDS)
        second, ended = await _answer(transport, clock)
    except (ClusterUnavailable, ClusterRefused):
        return None
    rate = (second - first) / (ended - began)
    if SAME_RATE[0] <= rate <= SAME_RATE[1]:
        return 1.0
    return round(rate, 1 - math.floor(math.log10(rate))) if 0.0 < rate <= FASTEST else None


async def _answer(transport: Transport, clock: Clock) -> tuple[float, float]:
    """Return the server's time, and ours in the middle of the request."""
    asked = clock.monotonic()
    answer = await transport.request("GET", "/version")
    return answer.cluster_time_seconds, (asked + clock.monotonic()) / 2.0


def rate_note(settings: StackSettings) -> str:
    """Return what is said of the clock of a cluster of the user's own; empty where nothing is special."""
    run = settings.run
    if run.kubeconfig is None or run.speed == 1.0:
        return ""
    if run.speed is None:
        return (
            "how fast this cluster's clock runs is not known, so it is taken for a wall clock; where that is wrong "
            "all signals become stale: give --speed"
        )
    return (
        f"this cluster's clock runs {number(run.speed)} times as fast as wall time; ages and limits are counted "
        "in its time"
    )
