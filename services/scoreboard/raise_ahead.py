"""One executed raise of replicas that rested on a forecast, followed minute by minute until its time is over.

Its value is against the replicas that would have been wanted without the forecast, at the prices of the outcome score:
minutes within the objective at a rate that those do not bear, less the capacity of the further ones. Reacting would
have come to the same number in the end, so from one lead time after the rate passed what they bear nothing is counted.
"""

from __future__ import annotations

from projections.foresight.course import Minute
from schemas.foresight_score import AheadScore
from schemas.model import DataModel
from schemas.numbers import Count, Cycle, Rounded, Seconds, rounded
from schemas.proposal import ForecastGround

HOUR_SECONDS = 3_600.0
SEEN_LOOKS = 2.0
"""Looks that it takes to see a violation, before anybody reacts."""


class RaiseAhead(DataModel):
    """The raise, and what was seen of it so far."""

    cycle: Cycle
    part: Count
    causes: tuple[str, ...]
    """Ids of the predictions that it rested on, and of its execution."""
    service: str
    workload: str
    ground: ForecastGround
    replicas_before: Count
    replicas_after: Count
    level: Rounded
    """See `projections.foresight.action.rise_level`."""
    due_seconds: Seconds
    """End of the farthest foreseen step that the replicas were to serve: until then the rise has to be there."""
    until_seconds: Seconds
    """The same, or the end of the time that its effect was expected in, where that is later."""
    executed_seconds: Seconds
    reaction_seconds: Seconds
    """From the moment at which the rate passes what replicas bear until reacting to it has an effect."""
    slo_service_minute: Rounded | None
    """Price; None, as `replica_hour`, where nothing is priced."""
    replica_hour: Rounded | None
    currency: str
    ready_seconds: Seconds | None = None
    rise_seconds: Seconds | None = None
    passed_seconds: Seconds | None = None
    """When the rate passed what the replicas without the forecast bear."""
    spared_seconds: Rounded = 0.0
    extra_replica_seconds: Rounded = 0.0
    seen_until_seconds: Seconds
    """End of the newest whole minute."""
    unseen: bool = False
    """Whether a part of its time was not seen."""

    @property
    def key(self) -> tuple[int, int]:
        """Which action of all it is: cycle and part of its decision."""
        return self.cycle, self.part

    @property
    def replicas_without(self) -> int:
        """Replicas that would have been wanted without the forecast."""
        without = self.ground.without_replicas
        return self.replicas_before if without is None else without

    def lacks(self, rate: float) -> bool:
        """Say whether the replicas without the forecast do not bear a rate."""
        return rate > self.replicas_without * self.ground.replica_rate

    def is_over(self, now_seconds: float) -> bool:
        """Say whether nothing more is to be seen of it."""
        known = self.rise_seconds is not None and self.ready_seconds is not None
        caught_up = known and not self._counts(self.seen_until_seconds)
        until = now_seconds if self.unseen else self.seen_until_seconds
        return caught_up or until >= self.until_seconds

    def with_ready(self, ready: int, now_seconds: float) -> RaiseAhead:
        """Return it after a look at the replicas that are ready."""
        if self.ready_seconds is not None or ready < self.replicas_after:
            return self
        return self.model_copy(update={"ready_seconds": now_seconds})

    def with_minute(self, minute: Minute, *, is_newest: bool) -> RaiseAhead:
        """Return it after a minute of its Service is over.

        Args:
            minute: requests and replicas in it.
            is_newest: no newer raise's further replicas were needed in it: what was spared counts once.
        """
        begin = minute.end_seconds - minute.seconds
        update: dict[str, float] = {"seen_until_seconds": minute.end_seconds}
        in_time = self.rise_seconds is None and minute.end_seconds <= self.due_seconds
        if in_time and minute.rate > self.level:
            update["rise_seconds"] = begin
        if self.passed_seconds is None and self.lacks(minute.rate):
            update["passed_seconds"] = begin
        after = self.model_copy(update=update)
        return after._with_money(minute, is_newest=is_newest)  # noqa: SLF001 (of its own class)

    def _with_money(self, minute: Minute, *, is_newest: bool) -> RaiseAhead:
        if minute.end_seconds > self.until_seconds or not self._counts(minute.end_seconds):
            return self
        further = max(0, min(minute.wanted, self.replicas_after) - self.replicas_without)
        within = max(0.0, minute.seconds - minute.violated_seconds)
        there = minute.ready > self.replicas_without
        spared = within if is_newest and there and self.lacks(minute.rate) else 0.0
        return self.model_copy(
            update={
                "spared_seconds": rounded(self.spared_seconds + spared),
                "extra_replica_seconds": rounded(
                    self.extra_replica_seconds + further * minute.seconds
                ),
            }
        )

    def _counts(self, end_seconds: float) -> bool:
        """Say whether reacting would not have had an effect yet."""
        passed = self.passed_seconds
        return passed is None or end_seconds <= passed + self.reaction_seconds

    def score(self) -> AheadScore:
        """Return what came of it."""
        came = self.rise_seconds is not None
        lead = None
        if self.rise_seconds is not None:
            ready = self.seen_until_seconds if self.ready_seconds is None else self.ready_seconds
            lead = rounded(self.rise_seconds - ready)
        return AheadScore(
            service=self.service,
            replicas_before=self.replicas_before,
            replicas_after=self.replicas_after,
            replicas_without=self.replicas_without,
            level=self.level,
            executed_seconds=self.executed_seconds,
            until_seconds=self.seen_until_seconds,
            rise_seconds=self.rise_seconds,
            ready_seconds=self.ready_seconds,
            lead_seconds=lead,
            right=None if self.unseen else came,
            spared_seconds=self.spared_seconds,
            extra_replica_seconds=self.extra_replica_seconds,
            value=self._value(),
            currency=self.currency,
        )

    def _value(self) -> float | None:
        if self.slo_service_minute is None or self.replica_hour is None:
            return None
        spared = self.slo_service_minute * self.spared_seconds / 60.0
        return rounded(spared - self.replica_hour * self.extra_replica_seconds / HOUR_SECONDS)
