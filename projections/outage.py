"""Whether the cluster answers, as the newest snapshot of its nodes, or observation, says."""

from __future__ import annotations

from dataclasses import dataclass

from projections.times import cluster_time
from schemas.observation import Observation
from schemas.reasons import Reason
from schemas.signals import SignalStatus
from schemas.snapshot import SnapshotNodes

NEEDED = ("nodes", "pods")
"""Without these lists there is nothing to decide on; the others may be missing for good, as metrics are
where no Metrics Server runs."""

NEEDED_SIGNAL = "node_requests"
"""The signal of an observation that is made from both."""


ABSENT = frozenset({Reason.NOT_INSTALLED, Reason.DISABLED})
"""Why a source is not there at all, which is no loss."""


@dataclass(frozen=True, slots=True)
class Outage:
    """The cluster cannot be read."""

    since_seconds: float
    """Cluster time of the first cycle that could not read it."""
    sources: tuple[str, ...]
    """Every source that fails, needed or not."""
    message: str
    """What the first of them says."""

    def text(self) -> str:
        """Return it as one line for people."""
        return (
            f"the cluster cannot be read since {cluster_time(self.since_seconds)} "
            f"({', '.join(self.sources)}: {self.message})"
        )


@dataclass(frozen=True, slots=True)
class LostSource:
    """A source that is there and cannot be read, while the cluster as a whole can."""

    source: str
    since_seconds: float
    """Cluster time of the first cycle that could not read it."""
    message: str
    """What its server says."""

    def text(self) -> str:
        """Return it as one line for people."""
        return f"{self.source} cannot be read since {cluster_time(self.since_seconds)} ({self.message})"


def lost_sources(snapshot: SnapshotNodes) -> tuple[LostSource, ...]:
    """Return the sources that are lost, without those that this cluster does not have; none in an outage, which says
    all of it.
    """
    if outage_of(snapshot) is not None:
        return ()
    return tuple(
        LostSource(
            one.source,
            snapshot.cluster_time_seconds
            if one.failing_since_seconds is None
            else one.failing_since_seconds,
            one.message or str(one.reason or "no answer"),
        )
        for one in snapshot.sources
        if not one.ok and one.reason not in ABSENT
    )


def outage_of(snapshot: SnapshotNodes) -> Outage | None:
    """Return the outage that a snapshot was made in; None while what is needed can be read."""
    failed = [source for source in snapshot.sources if not source.ok]
    needed = [source for source in failed if source.source in NEEDED]
    if not needed:
        return None
    known = [
        source.failing_since_seconds
        for source in needed
        if source.failing_since_seconds is not None
    ]
    since = min(known, default=snapshot.cluster_time_seconds)
    message = needed[0].message or str(needed[0].reason or "no answer")
    return Outage(since, tuple(source.source for source in failed), message)


def is_without_nodes(observation: Observation) -> bool:
    """Return whether an observation was made while nodes or pods could not be read."""
    return any(
        signal.name == NEEDED_SIGNAL and signal.status is SignalStatus.MISSING
        for signal in observation.signals
    )
