"""Settings of the breakers, with the reason for each default."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from schemas.model import DataModel


class BreakerSettings(DataModel):
    """When acting stops by itself, for one kind of action or altogether, and how it begins again (docs/breakers.md)."""

    when: Literal["auto", "on", "off"] = "auto"
    """auto: with `agents.profile = foresail` alone, since the other profiles are what it is compared with, whose harm
    is to be seen whole. on, off: whatever the profile.
    """
    harm_ratio: float = Field(default=0.02, gt=0)
    """Loss against the untouched world, as a share of what the cluster costs in `harm_window_seconds`, that trips the
    whole; 2 % is what a run may lose at most by our own bar, and a loss ten times as fast trips it in a tenth of
    the time.
    """
    harm_window_seconds: float = Field(default=1_800.0, ge=60)
    """Cluster seconds over which that loss is counted: half an hour, so that what pays back later, such as a replica
    that waits for its node, has had its time.
    """
    harm_least_seconds: float = Field(default=60.0, ge=0)
    """Cluster seconds of both worlds that have to be seen before they are judged; what the cluster costs is not known
    before."""
    switchback_pairs: int = Field(default=6, ge=2)
    """Pairs of blocks from which a switchback whose whole interval is below 0 trips the whole; with fewer an interval
    is wide, and one outage rules it.
    """
    window_seconds: float = Field(default=3_600.0, gt=0)
    """Cluster seconds of executions, refusals and forecasts that are looked at for each kind of action."""
    worse_ratio: float = Field(default=0.3, gt=0, le=1)
    """Share of a kind's verifications that found the cluster worse that trips it. Chance alone makes some worse, since
    a rise at the same time is no proof: of a tenth, 6 of 20 or more are seen once in a hundred times.
    """
    worse_least: int = Field(default=6, ge=1)
    """Verifications found worse that it takes at least."""
    refused_ratio: float = Field(default=0.9, gt=0, le=1)
    """Share of a kind's decisions that were refused that trips it: it can hardly ever be done here."""
    refused_least: int = Field(default=40, ge=1)
    """Refusals that it takes at least; an agent gives an action up for a while after six in a row."""
    churn_most: int = Field(default=4, ge=1)
    """Times within `window_seconds` that one target may be turned the other way. The guard rail `ping_pong` (15
    minutes) lets a target be turned four times an hour.
    """
    churn_ratio: float = Field(default=0.2, gt=0, le=1)
    """Share of a kind's targets that were turned more often than that which trips it. One of many is held by the guard
    rail: to stop the kind for all the others, perhaps in a rush of requests, would do more harm than it prevents.
    """
    skill_positives: int = Field(default=20, ge=1)
    """Failures among the forecast targets from which a Brier skill below 0, worse than always saying the rate that was
    seen, trips the kinds that are decided by the forecast of risk.
    """
    hold_seconds: float = Field(default=1_800.0, gt=0)
    """Cluster seconds in shadow after the first trip; each further one before it recovers doubles them."""
    most_hold_seconds: float = Field(default=14_400.0, gt=0)
    """Cluster seconds in shadow at most."""
    probation_seconds: float = Field(default=1_800.0, gt=0)
    """Cluster seconds on probation at least; with no execution in them it goes on."""
    probation_spacing_seconds: float = Field(default=300.0, ge=0)
    """Cluster seconds between two executions on probation, long enough for one to be verified before the next."""
    probation_ratio: float = Field(default=0.5, gt=0, le=1)
    """Share of the usual budget and of the usual counts that trips on probation."""

    @property
    def enabled(self) -> bool:
        """Whether breakers are kept; `auto` is decided by `foresail up`, and means off where nobody did."""
        return self.when == "on"


OFF: Final = BreakerSettings(when="off")
