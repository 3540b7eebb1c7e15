"""A switchback read from a log again: every pair, and what other wash-outs would have estimated.

An estimate that moves on as the wash-out grows says that the effect of a block lasts into the next ones: then
blocks and wash-out are too short (Bojinov, Simchi-Levi and Zhao, 2023, identify the order of carry-over so).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from projections.switchback.schedule import SwitchbackSettings
from projections.switchback.tally import ClosedPair, SwitchbackTally, add_step
from schemas.config import Config
from schemas.envelope import Event
from schemas.numbers import rounded
from schemas.score import OutcomeScore
from schemas.switchback import OutcomeSwitchback

READS = ("config.scoreboard", "outcome.score", "outcome.switchback")
KEPT_PAIRS = 1_000
SHARES = (0.0, 0.25, 0.5, 0.75)
"""Wash-outs tried beside the one of the settings, as shares of a block."""


@dataclass(slots=True)
class SwitchbackReading:
    """Statement of a log about the newest schedule in it."""

    schedule: SwitchbackSettings | None = None
    """None: the log holds no switchback."""
    pairs: deque[ClosedPair] = field(default_factory=lambda: deque(maxlen=KEPT_PAIRS))
    """With the wash-out of the settings, oldest first."""
    tallies: dict[float, SwitchbackTally] = field(default_factory=dict)
    """By wash-out, seconds."""
    newest: OutcomeSwitchback | None = None
    """The estimate that the scoreboard stored."""
    currency: str = ""
    scores: int = 0
    """Steps of the score that were read."""

    def add(self, event: Event[Any]) -> None:
        """Take the next event of the log."""
        match event.data:
            case Config(process="scoreboard", settings=settings):
                self._begin(settings)
            case OutcomeScore() as score:
                self._add_score(score)
            case OutcomeSwitchback() as estimate:
                self.newest = estimate

    def _begin(self, settings: Mapping[str, Any]) -> None:
        try:
            schedule = SwitchbackSettings.model_validate(settings.get("switchback") or {})
        except ValidationError:
            return  # of a version that knew more
        if not schedule.enabled or schedule == self.schedule:
            return
        self.schedule, self.newest = schedule, None
        self.pairs.clear()
        tried = {share * schedule.block_seconds for share in SHARES}
        self.tallies = dict.fromkeys(sorted({*tried, schedule.wash_out_seconds}), SwitchbackTally())

    def _add_score(self, score: OutcomeScore) -> None:
        self.scores += 1
        self.currency = score.currency
        if self.schedule is None:
            return
        end = score.cluster_time_seconds
        begin = rounded(end - score.step_seconds)
        for wash_out, tally in self.tallies.items():
            schedule = self.schedule.model_copy(update={"wash_out_seconds": wash_out})
            self.tallies[wash_out], closed = add_step(tally, begin, end, score.step_money, schedule)
            if closed is not None and wash_out == self.schedule.wash_out_seconds:
                self.pairs.append(closed)
