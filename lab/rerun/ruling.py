"""Layer 5 again: the ruling on what the recording says was considered.

Taken from the recording: how each cycle closed and which proposals had arrived by then. The ruling,
its rationale, who lost to what and the row of equal decisions are computed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from lab.rerun.compare import Comparer
from lab.rerun.stage import WAITING_CYCLES, AnyEvent, Pair, Pattern, Recorded
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.decision import ClosedBy, Decision
from schemas.envelope import NewEvent
from schemas.identity import Origin
from schemas.observation import Observation
from schemas.proposal import Proposal
from services.referee.rule import Rule
from services.referee.rules import RULES
from services.referee.service import RefereeHandler, decision_of
from services.referee.state import LastDecision, PendingCycle, RefereeState, evolve

KEPT_INPUTS = 20_000


class RulingStage:
    """The referee's ruling."""

    process = "referee"
    layer = "decision"
    reads: tuple[Pattern, ...] = (Observation.PATTERN, Proposal.PATTERN)
    writes: tuple[Pattern, ...] = (Decision.PATTERN,)

    def __init__(
        self,
        origin: Origin,
        *,
        from_start: bool,
        chained: bool,
        rules: Sequence[Rule] | None = None,
    ) -> None:
        """Rule by `rules`, the baseline's by default; `chained` counts its own rows of decisions."""
        self._compare = Comparer(origin, self.process, self.layer)
        self._rules = RULES if rules is None else tuple(rules)
        self._grounded = from_start
        self._chained = chained
        self._state = RefereeState()
        self._waiting: deque[AnyEvent] = deque()
        self.ready = False
        """Whether it was configured."""

    def configure(self, config: Config) -> None:
        """Nothing in the referee's settings shapes a ruling: they say when a cycle closes."""
        del config
        self.ready = True

    def restore(self, checkpoint: Checkpoint) -> None:
        """Begin with a stored state."""
        if self._grounded or checkpoint.state_version != RefereeHandler.state_version:
            return
        self._state = RefereeState.model_validate(checkpoint.state, extra="ignore")
        self._grounded = True
        self._waiting = deque(
            message for message in self._waiting if message.seq > checkpoint.folded_seq
        )

    def take(self, event: AnyEvent) -> None:
        """Let an observation or a proposal wait for the decision of its cycle."""
        self._waiting.append(event)
        if len(self._waiting) > (4 * WAITING_CYCLES if self._grounded else KEPT_INPUTS):
            first = self._waiting.popleft()
            if self._grounded:
                self._state = evolve(self._state, first)

    def answer(self, recorded: Recorded) -> Sequence[Pair]:
        """Rule again."""
        if not self._grounded:
            self._waiting.append(recorded.event)
            return (self._compare.pair(recorded, None, grounded=False),)
        self._advance(recorded)
        cycle = next((cycle for cycle in self._state.open if cycle.cycle == recorded.cycle), None)
        new_event = None if cycle is None else self._rule_on(cycle, recorded)
        pair = self._compare.pair(recorded, new_event)
        last_decision = (
            new_event.data if self._chained and new_event is not None else recorded.event.data
        )
        assert isinstance(last_decision, Decision)
        self._state = RefereeState(
            open=tuple(cycle for cycle in self._state.open if cycle.cycle != recorded.cycle),
            last=LastDecision(
                actions=last_decision.actions, repeat_count=last_decision.repeat_count
            ),
        )
        return (pair,)

    def finish(self) -> Sequence[Pair]:
        """Nothing waits here."""
        return ()

    def _rule_on(self, cycle: PendingCycle, recorded: Recorded) -> NewEvent:
        closed_by = ClosedBy(recorded.content["closed_by"])
        data = decision_of(cycle, closed_by, self._state.last, self._rules)
        causes = (cycle.observation_id, *(proposal.id for proposal in data.considered))
        return NewEvent(data, cycle.cycle, cycle.cluster_time_seconds, causes)

    def _advance(self, recorded: Recorded) -> None:
        """Apply the inputs up to a decision's cycle; of its proposals those that had arrived."""
        cycle = recorded.cycle
        arrived = {one["id"] for one in recorded.content["considered"]}
        left: deque[AnyEvent] = deque()
        for event in self._waiting:
            if event.cycle > cycle:
                left.append(event)
            elif not isinstance(event.data, Proposal) or event.cycle < cycle or event.id in arrived:
                self._state = evolve(self._state, event)
        self._waiting = left
