"""Layer 6 again: rewards and forecast scores.

The scoreboard settles everything when it applies the observation that settles it, so the log's own
order is all it depends on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from lab.rerun.compare import Comparer
from lab.rerun.settings import Changes, settings_from
from lab.rerun.stage import AnyEvent, Pair, Pattern, Recorded
from schemas.breaker import OutcomeBreaker
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.foresight import OutcomeForesight
from schemas.identity import Origin
from schemas.learned import OutcomeLearned
from schemas.mismatch import OutcomeMismatch
from schemas.outcome import OutcomeForecast, OutcomeReward
from schemas.promotion import OutcomeModels
from schemas.score import OutcomeCounterfactual, OutcomeScore
from schemas.switchback import OutcomeSwitchback
from schemas.upcast import WEIGHT_NAMES
from services.scoreboard.service import ScoreboardHandler, build
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.state import ScoreboardState

KEPT_INPUTS = 20_000


class ScoringStage:
    """The scoreboard's outcomes."""

    process = "scoreboard"
    layer = "outcome"
    reads: tuple[Pattern, ...] = ScoreboardHandler.reads
    writes: tuple[Pattern, ...] = (
        OutcomeReward.PATTERN,
        OutcomeForecast.PATTERN,
        OutcomeScore.PATTERN,
        OutcomeCounterfactual.PATTERN,
        OutcomeSwitchback.PATTERN,
        OutcomeBreaker.PATTERN,
        OutcomeModels.PATTERN,
        OutcomeForesight.PATTERN,
        OutcomeLearned.PATTERN,
        OutcomeMismatch.PATTERN,
    )

    def __init__(self, changes: Changes, origin: Origin, *, from_start: bool) -> None:
        """Score again; `from_start` says that the recording holds the log's beginning."""
        self._changes = changes
        self._origin = origin
        self._compare = Comparer(origin, self.process, self.layer)
        self._grounded = from_start
        self._handler: ScoreboardHandler | None = None
        self._state = ScoreboardState()
        self._kept: deque[AnyEvent] = deque(maxlen=KEPT_INPUTS)
        """Inputs since the recording's beginning, until a first state is known."""

    @property
    def ready(self) -> bool:
        """Whether it was configured."""
        return self._handler is not None

    def configure(self, config: Config) -> None:
        """Take the scoreboard's settings.

        Raises:
            InputError: they are not what today's scoreboard knows.
        """
        # Before there were prices nothing was scored, and marks did not outlast an execution.
        announced = {"score": None, "mark_horizons": 0.0, **config.settings}
        config = config.model_copy(update={"settings": _with_weights(announced)})
        settings = settings_from(ScoreboardSettings, "scoreboard", config, self._changes)
        self._handler = build(settings, self._origin)
        if self._grounded:
            self._apply_kept(after_seq=0)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Begin with a stored state."""
        handler = self._handler
        if self._grounded or handler is None or checkpoint.state_version != handler.state_version:
            return
        self._state = ScoreboardState.model_validate(checkpoint.state, extra="ignore")
        self._grounded = True
        self._apply_kept(after_seq=checkpoint.folded_seq)

    def _apply_kept(self, after_seq: int) -> None:
        assert self._handler is not None
        for message in self._kept:
            if message.seq > after_seq:
                self._state = self._handler.evolve(self._state, message)
        self._kept.clear()

    def take(self, event: AnyEvent) -> None:
        """Apply an input."""
        if not self._grounded or self._handler is None:
            self._kept.append(event)
        else:
            self._state = self._handler.evolve(self._state, event)

    def answer(self, recorded: Recorded) -> Sequence[Pair]:
        """Return what is owed at this place of the log."""
        if not self._grounded or self._handler is None:
            self._kept.append(recorded.event)
            return (self._compare.pair(recorded, None, grounded=False),)
        new_events = self._handler.decide(self._state, overdue=False)
        pair = self._compare.pair(recorded, self._compare.find(new_events, recorded))
        self._state = self._handler.evolve(self._state, recorded.event)
        return (pair,)

    def finish(self) -> Sequence[Pair]:
        """Nothing waits here."""
        return ()


def _with_weights(settings: dict[str, Any]) -> dict[str, Any]:
    """Return announced settings with the weights by agent, as they are announced today.

    Before that, three of them stood under names of their own.
    """
    if "weights" in settings:
        return settings
    weights = {agent: settings[name] for agent, name in WEIGHT_NAMES.items() if name in settings}
    return {**settings, "weights": weights} if weights else settings
