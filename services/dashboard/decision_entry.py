"""One decision of a long log: a light entry, with when it became what, and how often what occurs in many. Pure."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from projections.cycle_record import CycleRecord
from schemas.actions import ActionKind
from schemas.decision import Decision, is_noop
from services.dashboard.cycle_json import MILLISECOND_NS, Json, decision_row

ROW = (
    *("cycle", "seq", "cluster_time_seconds", "letter", "label", "noop", "target", "more"),
    *("rule", "losers", "missing"),
)
"""What an entry keeps of a decision's row."""
NOTHING_LOST: Mapping[str, tuple[str, str]] = {}
_PLACE = {name: place for place, name in enumerate(ROW)}
CHOICES = ("agent", "kind", "rule", "rail", "became", "lost")
"""What a list of decisions may be filtered by, with the values that occur."""


@dataclass(slots=True)
class DecisionEntry:
    """One decision of the log; tens of thousands are held, so nothing here has names or texts of its own twice."""

    seq: int
    recorded_ms: int
    values: tuple[Any, ...]
    """Of `ROW`, as `decision_row` gave them at first."""
    agent: str
    kind: str
    same: tuple[Any, ...]
    """Decisions to do nothing in a row of which this is the same are one line."""
    became: tuple[tuple[int, str], ...] = ()
    """Position of an outcome, and what the decision had become by then."""
    rewards: tuple[tuple[int, float], ...] = ()
    rails: tuple[tuple[int, str], ...] = ()
    """Guard rails that refused it."""
    lost: Mapping[str, tuple[str, str]] = field(default_factory=lambda: NOTHING_LOST)
    """By agent that wanted something and did not get it: the rule, and the agent that won."""

    def rails_by(self, seq: int) -> list[str]:
        """Return the guard rails that had refused it by a position."""
        return [rail for at, rail in self.rails if at <= seq]

    def told(self, name: str) -> Any:
        """Return one value of the decision's row."""
        return self.values[_PLACE[name]]

    def became_by(self, seq: int) -> str:
        """Return what it had become by a position; nothing before an outcome."""
        return next((text for at, text in reversed(self.became) if at <= seq), "")

    @property
    def settled_seq(self) -> int:
        """The position from which on it is as it is now."""
        noted = (*self.became, *self.rewards, *self.rails)
        return max((self.seq, *(at for at, _ in noted)))

    @property
    def row(self) -> Json:
        """The decision's row."""
        return dict(zip(ROW, self.values, strict=True))


def entry_of(record: CycleRecord) -> DecisionEntry | None:
    """Return the entry of a cycle that has just been decided."""
    row, decided = decision_row(record), record.decision
    if row is None or decided is None:
        return None
    data = decided.data
    idle = is_noop(data)
    row |= {"cluster_time_seconds": data.cluster_time_seconds, "seq": decided.seq}
    return DecisionEntry(
        seq=decided.seq,
        recorded_ms=decided.recorded_ns // MILLISECOND_NS,
        values=tuple(_shared(row[name]) for name in ROW),
        agent="" if idle else _shared(str(data.action.agent or "")),
        kind=_shared(str(data.action.kind)),
        same=(_shared(data.rule), data.missing, data.profile) if idle else (decided.seq,),
        lost={_shared(agent): beaten for agent, beaten in _lost(data).items()} or NOTHING_LOST,
    )


def _shared(value: Any) -> Any:
    """Return a value that is the same object wherever a text or nothing is repeated."""
    if isinstance(value, str):
        return sys.intern(str(value))
    return value if value != [] else ()


def _lost(data: Decision) -> dict[str, tuple[str, str]]:
    winners = data.winners
    lost: dict[str, tuple[str, str]] = {}
    for proposal in data.considered:
        override = data.overridden.get(proposal.agent)
        wanted = proposal.kind is not ActionKind.NOOP and proposal.id not in winners
        if wanted and override is not None:
            lost[proposal.agent] = (str(override.rule), str(override.by or ""))
    return lost


def note_outcome(entry: DecisionEntry, record: CycleRecord, seq: int) -> None:
    """Note what a decision has become by a position."""
    if record.result and (not entry.became or entry.became[-1][1] != record.result):
        entry.became = (*entry.became, (seq, _shared(record.result)))
    observed = None if record.reward is None else record.reward.data.observed
    if observed is not None and not entry.rewards:
        entry.rewards = ((seq, observed.total),)
    known = {rail for _, rail in entry.rails}
    for part in record.parts:
        guards = () if part.execution is None else part.execution.guards
        failed = {guard.guard for guard in guards if not guard.passed}
        entry.rails += tuple((seq, _shared(rail)) for rail in sorted(failed - known))


@dataclass(slots=True)
class Tally:
    """How many decisions there are, and how often what occurs in them."""

    decisions: int = 0
    acted: int = 0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By one of `CHOICES` and value."""

    @classmethod
    def of(cls, entries: Iterable[DecisionEntry], until_seq: int) -> Tally:
        """Count the decisions up to a position, as they stood there."""
        tally = cls()
        for entry in entries:
            if entry.seq <= until_seq:
                tally.decisions += 1
                tally.acted += entry.told("noop") is None
                tally.counts.update(_values(entry, until_seq))
        return tally

    def add(self, other: Tally) -> None:
        """Count those of another one too."""
        self.decisions += other.decisions
        self.acted += other.acted
        self.counts.update(other.counts)

    def choices(self) -> Json:
        """Return the values that occur, each with how often, the most frequent first."""
        counted: dict[str, list[tuple[str, int]]] = {name: [] for name in CHOICES}
        for (name, value), count in self.counts.items():
            counted[name].append((value, count))
        return {
            name: sorted(own, key=lambda one: (-one[1], one[0])) for name, own in counted.items()
        }


def _values(entry: DecisionEntry, seq: int) -> set[tuple[str, str]]:
    values = (
        ("agent", entry.agent),
        ("kind", entry.kind),
        ("rule", entry.told("rule")),
        *(("rail", rail) for at, rail in entry.rails if at <= seq),
        *(("became", part) for part in entry.became_by(seq).split(", ")),
        *(("lost", agent) for agent in entry.lost),
    )
    return {one for one in values if one[1] != ""}
