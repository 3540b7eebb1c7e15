"""The switchback's estimate: each pair of blocks adds one, from the scores of this world alone."""

from __future__ import annotations

from projections.switchback.schedule import SwitchbackSettings
from projections.switchback.tally import (
    CONFIDENCE,
    ClosedPair,
    SwitchbackTally,
    add_step,
    effect_of,
)
from schemas.envelope import NewEvent
from schemas.model import DataModel
from schemas.numbers import Count, rounded
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution
from schemas.reasons import Reason
from schemas.score import OutcomeScore
from schemas.switchback import OutcomeSwitchback, SwitchbackPair

KEPT_UNPUBLISHED = 10
"""Estimates kept for publishing at once; each holds all that the ones before it say."""


class UnpublishedEstimate(DataModel):
    """An estimate that the log does not hold yet."""

    causes: tuple[str, ...]
    estimate: OutcomeSwitchback


class SwitchedBlocks(DataModel):
    """Blocks scored so far, what was executed and held in them, and what is not published yet."""

    schedule: SwitchbackSettings
    """By which all of this was counted; another one begins anew."""
    tally: SwitchbackTally = SwitchbackTally()
    executions: Count = 0
    held: Count = 0
    owed: tuple[UnpublishedEstimate, ...] = ()

    def new_events(self) -> tuple[NewEvent, ...]:
        """Return the events to publish, in order."""
        return tuple(
            NewEvent(
                owed.estimate,
                owed.estimate.cycle,
                owed.estimate.cluster_time_seconds,
                owed.causes,
            )
            for owed in self.owed
        )

    def without(self, published: OutcomeSwitchback) -> SwitchedBlocks:
        """Return the same without what the log holds now."""
        owed = tuple(owed for owed in self.owed if owed.estimate.cycle != published.cycle)
        return self.model_copy(update={"owed": owed})

    def after_execution(self, execution: OutcomeExecution) -> SwitchedBlocks:
        """Return the same with an execution or a decision that was held counted."""
        wrote = (
            execution.phase is ExecutionPhase.FINISHED
            and execution.mode is Mode.ACTIVE
            and not execution.rollback_of
        )
        held = execution.reason is Reason.SWITCHBACK
        return self.model_copy(
            update={"executions": self.executions + wrote, "held": self.held + held}
        )

    def after_score(self, score: OutcomeScore, causes: tuple[str, ...]) -> SwitchedBlocks:
        """Return the same after one more step of the score; a pair that is over by then is estimated.

        Args:
            score: of the step.
            causes: ids of the observations at both ends.
        """
        end = score.cluster_time_seconds
        begin = rounded(end - score.step_seconds)
        tally, closed = add_step(self.tally, begin, end, score.step_money, self.schedule)
        after = self.model_copy(update={"tally": tally})
        if closed is None:
            return after
        owed = UnpublishedEstimate(causes=causes, estimate=after.estimate(score, closed))
        return after.model_copy(update={"owed": (*self.owed, owed)[-KEPT_UNPUBLISHED:]})

    def estimate(self, score: OutcomeScore, closed: ClosedPair) -> OutcomeSwitchback:
        """Return the estimate after a pair, at the score that showed that it is over."""
        settings, effect = self.schedule, effect_of(self.tally)
        return OutcomeSwitchback(
            cycle=score.cycle,
            cluster_time_seconds=score.cluster_time_seconds,
            unit="namespace" if settings.unit == "namespace" else "time",
            seed=settings.seed,
            block_seconds=settings.block_seconds,
            wash_out_seconds=settings.wash_out_seconds,
            currency=score.currency,
            pair=SwitchbackPair(
                first_block=2 * closed.number,
                first_money_per_hour=closed.first.per_hour,
                second_money_per_hour=closed.second.per_hour,
                first_seconds=closed.first.seconds,
                second_seconds=closed.second.seconds,
                acting_first=closed.acting_first,
                counts=closed.counts,
            ),
            pairs=self.tally.used,
            pairs_left_out=self.tally.left_out,
            executions=self.executions,
            held=self.held,
            effect_money_per_hour=None if effect is None else effect.per_hour,
            low_money_per_hour=None if effect is None else effect.low,
            high_money_per_hour=None if effect is None else effect.high,
            confidence_ratio=CONFIDENCE,
        )


def blocks_of(switched: SwitchedBlocks | None, schedule: SwitchbackSettings) -> SwitchedBlocks:
    """Return the blocks that go on under a schedule: those so far, or none where they were of another."""
    if switched is None or switched.schedule != schedule:
        return SwitchedBlocks(schedule=schedule)
    return switched
