"""Times say which clock they are of."""

from __future__ import annotations

from projections.operating import OperatingState
from projections.outage import Outage
from projections.times import cluster_clock, cluster_time, wall_time

AT_SECONDS = 1_767_225_967.25


def test_a_time_names_its_clock() -> None:
    """Cluster time and wall time are never mistaken for each other."""
    assert cluster_clock(AT_SECONDS) == "00:06:07 cluster time"
    assert cluster_time(AT_SECONDS) == "2026-01-01 00:06:07 cluster time"
    assert wall_time(AT_SECONDS) == "2026-01-01 00:06:07 UTC wall time"


def test_a_hold_began_at_wall_time_and_an_outage_at_cluster_time() -> None:
    """Both stand in `status`, in the terminal and on the page."""
    held = OperatingState(paused=True, held_since_seconds=AT_SECONDS)
    assert "since 2026-01-01 00:06:07 UTC wall time" in held.hold_text()
    outage = Outage(AT_SECONDS, ("nodes",), "refused")
    assert "since 2026-01-01 00:06:07 cluster time" in outage.text()
