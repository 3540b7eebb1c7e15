"""The referee as a handler: each cycle gets exactly one decision, whoever is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from schemas.actions import Action, AgentName, Target
from schemas.decision import ClosedBy, Decision
from schemas.envelope import Event, NewEvent
from schemas.identity import Origin
from services.referee.closing import closings
from services.referee.rule import Rule
from services.referee.rules import RULES
from services.referee.ruling import Ruling, rule_on, superseded_ruling
from services.referee.settings import RefereeSettings
from services.referee.state import LastDecision, PendingCycle, RefereeState, evolve


class RefereeHandler:
    """The behaviour of the process `referee`; see `bus.follow.Handler`."""

    name = "referee"
    reads: tuple[tuple[str, ...], ...] = (("observation",), ("proposal", "*"), ("decision",))
    state_version = 1

    def __init__(self, deadline_seconds: float) -> None:
        """Wait at most `deadline_seconds` of wall time for proposals."""
        self._deadline_seconds = deadline_seconds

    @property
    def deadline_seconds(self) -> float | None:
        """Wall seconds to wait for proposals."""
        return self._deadline_seconds

    def initial(self) -> RefereeState:
        """Return the state before any event."""
        return RefereeState()

    def evolve(self, state: RefereeState, event: Event[Any]) -> RefereeState:
        """Return the state after one stored event."""
        return evolve(state, event)

    def open_cycle(self, state: RefereeState) -> int | None:
        """Return the newest cycle without a decision."""
        return state.open[-1].cycle if state.open else None

    def decide(self, state: RefereeState, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return the decisions to publish, oldest cycle first."""
        last = state.last
        new_events: list[NewEvent] = []
        for cycle, closed_by in closings(state.open, overdue=overdue):
            data = decision_of(cycle, closed_by, last)
            last = LastDecision(actions=data.actions, repeat_count=data.repeat_count)
            causes = (cycle.observation_id, *(proposal.id for proposal in data.considered))
            new_events.append(NewEvent(data, cycle.cycle, cycle.cluster_time_seconds, causes))
        return tuple(new_events)


def decision_of(
    cycle: PendingCycle,
    closed_by: ClosedBy,
    last: LastDecision | None,
    rules: Sequence[Rule] = RULES,
) -> Decision:
    """Return the decision of a cycle; `last` is the decision before it, `rules` are tried in order."""
    if closed_by is ClosedBy.SUPERSEDED:
        ruling = superseded_ruling(cycle.proposals, cycle.missing)
    else:
        ruling = rule_on(cycle.proposals, cycle.missing, rules)
    return Decision(
        cycle=cycle.cycle,
        cluster_time_seconds=cycle.cluster_time_seconds,
        observation_id=cycle.observation_id,
        closed_by=closed_by,
        parts=ruling.parts,
        rule=ruling.rule,
        rationale=ruling.rationale,
        considered=tuple(candidate.considered for candidate in ruling.considered),
        overridden=dict(ruling.overridden),
        missing=cycle.missing,
        reason=ruling.reason,
        repeat_count=_repeats(ruling, last),
        profile=_profile(ruling),
    )


def _repeats(ruling: Ruling, last: LastDecision | None) -> int:
    same = last is not None and _aims(last.actions) == _aims(part.action for part in ruling.parts)
    return 1 + (last.repeat_count if same and last is not None else 0)


def _aims(actions: Iterable[Action]) -> list[tuple[AgentName | None, str, Target]]:
    """Return who does what to whom, without how much."""
    return [(action.agent, action.full_kind, action.target) for action in actions]


def _profile(ruling: Ruling) -> str:
    """Return the profiles of the proposals considered, each once; empty when there were none."""
    return ",".join(dict.fromkeys(proposal.profile for proposal in ruling.considered))


def build(settings: RefereeSettings, origin: Origin) -> RefereeHandler:
    """Return the handler that the settings describe.

    The same one live, in re-runs and in simulation.
    """
    del origin  # events get their origin when they are stamped
    return RefereeHandler(settings.deadline_seconds)
