"""Layers 3 and 4 again: handlers that owe an answer to each observation (inference and the agents).

Live, an answer depends on how far the process had read when it answered. The recording says what
matters of that: an answer to a cycle was made when that cycle was the newest, a superseded one when
a newer had arrived, and `prediction_missing` (or `prediction_overdue`) before the prediction was
there. So each answer is computed from the inputs up to its own cycle and nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from bus.follow import Handler
from lab.rerun.compare import Comparer
from lab.rerun.stage import (
    WAITING_CYCLES,
    AnyEvent,
    Pair,
    Pattern,
    Recorded,
)
from schemas import subjects
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.envelope import NewEvent
from schemas.history import HistoryBlock
from schemas.identity import Origin
from schemas.observation import Observation
from schemas.prediction import Prediction
from schemas.reasons import Reason

HISTORY = HistoryBlock.PATTERN[0]
"""Layer of events that a state is rebuilt from beside its checkpoint."""
KEPT_INPUTS = 20_000
"""Inputs kept until a first state is known."""
MAY_READ: tuple[Pattern, ...] = (
    *(("snapshot", "*"), ("observation",), ("prediction", ">")),
    *(("outcome", "models"), ("outcome", "foresight")),
    ("history", ">"),
)
Build = Callable[[Config], Handler[Any]]


class AnsweringStage:
    """A handler that answers observations one by one."""

    def __init__(
        self,
        process: str,
        layer: str,
        writes: tuple[Pattern, ...],
        build: Build,
        origin: Origin,
        *,
        from_start: bool,
    ) -> None:
        """Re-run `process`; `from_start` says that the recording holds the log's beginning."""
        self.process, self.layer, self.writes = process, layer, writes
        self._build = build
        self._compare = Comparer(origin, process, layer)
        self._grounded = from_start
        self._handler: Handler[Any] | None = None
        self._state: Any = None
        self._waiting: deque[AnyEvent] = deque()
        """Inputs that are not applied yet, in the log's order."""
        self._rebuilt_from: list[AnyEvent] = []
        """Events of histories that came before the state was known."""
        self._cycles = 0
        self._passed: list[Recorded] = []
        """Recorded answers to cycles that were passed over; compared with the next real one."""
        self._new_events: tuple[NewEvent, ...] = ()

    @property
    def reads(self) -> tuple[Pattern, ...]:
        """What the handler reads; before it is built, everything that such a handler may read."""
        return MAY_READ if self._handler is None else self._handler.reads

    @property
    def ready(self) -> bool:
        """Whether it was configured."""
        return self._handler is not None

    def configure(self, config: Config) -> None:
        """Build the handler that the process announced; the state stays."""
        self._handler = self._build(config)
        if self._state is None:
            self._forget_unread()
        self._new_events = ()
        if self._state is None:
            self._state = self._handler.initial()

    def _forget_unread(self) -> None:
        """Keep of what came before the announcement only what this handler reads."""
        patterns = [subjects.pattern("*", tokens) for tokens in self.reads]
        self._waiting = deque(
            message
            for message in self._waiting
            if any(subjects.matches(pattern, message.subject) for pattern in patterns)
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Begin with a stored state."""
        handler = self._handler
        if self._grounded or handler is None or checkpoint.state_version != handler.state_version:
            return
        self._state = type(handler.initial()).model_validate(checkpoint.state, extra="ignore")
        for event in self._rebuilt_from:  # what a checkpoint has no room for, as at a start
            if event.seq <= checkpoint.folded_seq:
                self._state = handler.evolve(self._state, event)
        self._rebuilt_from.clear()
        self._grounded = True
        unanswered = [message for message in self._waiting if message.seq > checkpoint.folded_seq]
        self._waiting = deque(unanswered)
        self._cycles = sum(isinstance(event.data, Observation) for event in unanswered)

    def take(self, event: AnyEvent) -> None:
        """Let an input wait for the answer it belongs to."""
        self._waiting.append(event)
        if isinstance(event.data, Observation):
            self._cycles += 1
        if not self._grounded:
            if subjects.parse(event.subject).tokens[0] == HISTORY:
                self._rebuilt_from.append(event)
            while len(self._waiting) > KEPT_INPUTS:
                self._waiting.popleft()
        elif self._cycles > WAITING_CYCLES:
            self._apply_first()

    def answer(self, recorded: Recorded) -> Sequence[Pair]:
        """Answer a recorded event's cycle again."""
        if not self._grounded:
            self._waiting.append(recorded.event)
            return (self._compare.pair(recorded, None, grounded=False),)
        reason = recorded.content.get("reason")
        if reason == Reason.SUPERSEDED:
            self._passed.append(recorded)
            return ()
        if self._compare.find(self._new_events, recorded) is None:
            overdue = recorded.content.get("prediction_overdue", False)
            self._advance(recorded.cycle, blind=overdue or reason == Reason.PREDICTION_MISSING)
        return self._compare_answers((*self._passed, recorded))

    def finish(self) -> Sequence[Pair]:
        """Answer what was passed over last: the newer observation is there, its answer is not."""
        if not self._passed or not self._grounded:
            return ()
        newest = max(
            (event.cycle for event in self._waiting if isinstance(event.data, Observation)),
            default=0,
        )
        self._advance(newest, blind=False)
        return self._compare_answers(tuple(self._passed))

    def _advance(self, cycle: int, *, blind: bool) -> None:
        """Apply every input up to a cycle, its prediction excepted when it was `blind`, and ask."""
        handler = self._handler
        assert handler is not None
        left: deque[AnyEvent] = deque()
        for event in self._waiting:
            hidden = blind and event.cycle == cycle and isinstance(event.data, Prediction)
            if event.cycle > cycle or hidden:
                left.append(event)
            else:
                self._state = handler.evolve(self._state, event)
        self._waiting = left
        self._cycles = sum(isinstance(event.data, Observation) for event in left)
        self._new_events = handler.decide(self._state, overdue=blind)

    def _apply_first(self) -> None:
        assert self._handler is not None
        event = self._waiting.popleft()
        self._cycles -= isinstance(event.data, Observation)
        self._state = self._handler.evolve(self._state, event)

    def _compare_answers(self, events: Sequence[Recorded]) -> Sequence[Pair]:
        """Compare answers, then let the log hold them."""
        assert self._handler is not None
        pairs = [
            self._compare.pair(event, self._compare.find(self._new_events, event))
            for event in events
        ]
        for event in events:
            self._state = self._handler.evolve(self._state, event.event)
        self._passed = []
        return pairs
