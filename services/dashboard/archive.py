"""The archive: what the page needs to show any moment of the log. Pure, and of bounded size but for two bytes per
message and three numbers per minute and per cycle.

States are kept every so many messages (`kept_states`); one in between is made from the nearest before it by the
same reducer that makes the newest.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Any

from projections.outage import outage_of
from schemas.breaker import OutcomeBreaker
from schemas.config import Config
from schemas.control import Control
from schemas.decision import Decision, is_noop, noop_reason
from schemas.envelope import Event
from schemas.mismatch import OutcomeMismatch
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution, OutcomeReward, OutcomeVerification
from schemas.run import RunError
from schemas.snapshot import SnapshotNodes
from schemas.stimulus import Stimulus
from services.dashboard.arrival import ReceivedMessage
from services.dashboard.cycle_json import MILLISECOND_NS, Json
from services.dashboard.decision_book import DecisionBook
from services.dashboard.decision_entry import entry_of, note_outcome
from services.dashboard.incident_books import IncidentBooks
from services.dashboard.kept_states import KeptStates
from services.dashboard.learned_places import LearnedPlaces
from services.dashboard.page import Page
from services.dashboard.positions import Positions
from services.dashboard.run_book import tells_of_runs

MOST_MARKS = 4_000
MARK_TEXT = 120


@dataclass(slots=True)
class Archive:
    """Everything read so far, oldest first."""

    states: KeptStates
    incidents: IncidentBooks
    positions: Positions = field(default_factory=Positions)
    """Of every message, and when each was recorded."""
    cycle_numbers: array[int] = field(default_factory=lambda: array("q"))
    """Cycles that were observed, in order,"""
    cycle_seqs: array[int] = field(default_factory=lambda: array("q"))
    """the position of each one's observation,"""
    cycle_times: array[float] = field(default_factory=lambda: array("d"))
    """and its cluster time, in seconds since the Unix epoch."""
    decisions: DecisionBook = field(default_factory=DecisionBook)
    marks: list[Json] = field(default_factory=list)
    """Moments worth a mark on the scrubber."""
    run_events: list[Event[Any]] = field(default_factory=list)
    """What tells of runs, but for what does so in every cycle: about two kilobytes for each trial, file and stage, so
    some megabytes for an experiment of thousands of trials. A log that only goes on has no more of them."""
    learned: LearnedPlaces = field(default_factory=LearnedPlaces)
    """What tells of learned policies in every cycle."""
    outage: bool = False

    def add(self, page: Page, arrival: ReceivedMessage) -> None:
        """Take in one message, with its placements, and the state after it."""
        self.positions.append(arrival.seq, arrival.recorded_ns // MILLISECOND_NS)
        self.states.offer(len(self.positions) - 1, page)
        self.incidents.add(arrival)
        if arrival.event is None:
            return
        if tells_of_runs(arrival.tokens) and not self.learned.take(arrival.event):
            self.run_events.append(arrival.event)
        match arrival.event.data:
            case Observation(cycle=cycle, cluster_time_seconds=time):
                self.cycle_numbers.append(cycle)
                self.cycle_seqs.append(arrival.seq)
                self.cycle_times.append(time)
            case Decision(cycle=cycle):
                self._add_decision(page, cycle)
            case OutcomeExecution() | OutcomeVerification() | OutcomeReward():
                self._add_outcome(page, arrival.event.cycle, arrival.seq)
            case _:
                pass
        self._mark(arrival)

    def seq_at(self, time_ms: int) -> int | None:
        """Return the position of the newest message recorded by the end of a millisecond, or of the first of all."""
        if not self.positions:
            return None
        return self.positions.seq(max(0, self.positions.recorded_by(time_ms) - 1))

    def end_at_cluster_time(self, time_seconds: float) -> int | None:
        """Return the last position of the newest cycle that was observed by a cluster time, or of the first of all."""
        if not self.cycle_times:
            return None
        place = max(0, bisect_right(self.cycle_times, time_seconds) - 1)
        return self.end_of_cycle(self.cycle_numbers[place])

    def ms_at_cluster_time(self, time_seconds: float) -> int | None:
        """Return when the first cycle that was observed at or after a cluster time was recorded, in milliseconds."""
        place = bisect_left(self.cycle_times, time_seconds)
        if place == len(self.cycle_times):
            return None
        return self.positions.ms(self.positions.place_of(self.cycle_seqs[place]))

    def end_of_cycle(self, cycle: int) -> int | None:
        """Return the last position before the next cycle's observation; None when the cycle is not known."""
        place = bisect_left(self.cycle_numbers, cycle)
        if place == len(self.cycle_numbers) or self.cycle_numbers[place] != cycle:
            return None
        if place + 1 == len(self.cycle_numbers):
            return self.positions.seq(-1)
        return self.positions.seq(self.positions.place_of(self.cycle_seqs[place + 1]) - 1)

    def begin_of_cycle(self, cycle: int) -> int:
        """Return a position not behind a cycle's observation."""
        place = bisect_left(self.cycle_numbers, cycle)
        if place == len(self.cycle_numbers):
            return self.first_seq
        return self.cycle_seqs[place]

    @property
    def first_seq(self) -> int:
        """The position of the first message; 1 before there is one."""
        return self.positions.seq(0) if self.positions else 1

    def outline(self, after_seq: int) -> Json:
        """Return the ends of the log, and the marks behind a position."""
        if not self.positions:
            return {"first_seq": 0, "last_seq": 0, "marks": []}
        return {
            "first_seq": self.first_seq,
            "last_seq": self.positions.seq(-1),
            "first_ms": self.positions.ms(0),
            "last_ms": self.positions.ms(-1),
            "first_cycle": self.cycle_numbers[0] if self.cycle_numbers else None,
            "last_cycle": self.cycle_numbers[-1] if self.cycle_numbers else None,
            "marks": [mark for mark in self.marks if mark["seq"] > after_seq],
        }

    def _add_decision(self, page: Page, cycle: int) -> None:
        record = page.overview.cycles.by_cycle.get(cycle)
        entry = None if record is None else entry_of(record)
        if entry is not None:
            self.decisions.add(cycle, entry)

    def _add_outcome(self, page: Page, cycle: int, seq: int) -> None:
        record, entry = page.overview.cycles.by_cycle.get(cycle), self.decisions.newest(cycle)
        if record is not None and entry is not None:
            note_outcome(entry, record, seq)

    def _mark(self, arrival: ReceivedMessage) -> None:
        assert arrival.event is not None
        told = mark_of(arrival.event.data)
        if isinstance(arrival.event.data, SnapshotNodes):
            outage = outage_of(arrival.event.data)
            told = None
            if (outage is not None) != self.outage:
                self.outage = outage is not None
                text = "the cluster can be read again" if outage is None else outage.text()
                told = ("fault", "", text)
        if told is None:
            return
        kind, agent, text = told
        self.marks.append(
            {
                "seq": arrival.seq,
                "ms": arrival.recorded_ns // MILLISECOND_NS,
                "kind": kind,
                "agent": agent,
                "cycle": arrival.event.cycle,
                "text": text[:MARK_TEXT],
            }
        )
        if len(self.marks) > MOST_MARKS:
            del self.marks[: MOST_MARKS // 4]


def mark_of(data: Any) -> tuple[str, str, str] | None:
    """Return what kind of mark an event is, whose, and what it says; None for most events."""
    match data:
        case Decision() if not is_noop(data):
            return "decision", str(data.action.agent or ""), data.line()
        case Decision(missing=missing) if missing:
            return (
                "fault",
                "",
                f"cycle {data.cycle}: {noop_reason(data)}; no proposal of {', '.join(missing)}",
            )
        case OutcomeBreaker() | RunError():
            return "fault", "", data.line()
        case OutcomeMismatch():
            return "warning", "", data.line()
        case Control():
            return "control", "", data.line()
        case Config(replaces=replaces):
            return ("config" if replaces else "restart"), "", data.line()
        case Stimulus(status="applied"):
            return "stimulus", "", data.line()
        case _:
            return None
