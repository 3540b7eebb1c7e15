"""The list of decisions: one light entry each, with when it became what, so that any moment can be shown. Pure."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from projections.cycle_record import CycleRecord
from schemas.actions import ActionKind
from schemas.decision import Decision, is_noop
from services.dashboard.cycle_json import MILLISECOND_NS, Json, decision_row

LIMIT = 200
"""Rows of one answer."""
ROW = (
    *("cycle", "seq", "cluster_time_seconds", "letter", "label", "noop", "target", "more"),
    *("rule", "losers", "missing"),
)
"""What an entry keeps of a decision's row."""
NOTHING_LOST: Mapping[str, tuple[str, str]] = MappingProxyType({})
_PLACE = {name: place for place, name in enumerate(ROW)}


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

    def told(self, name: str) -> Any:
        """Return one value of the decision's row."""
        return self.values[_PLACE[name]]

    @property
    def row(self) -> Json:
        """The decision's row."""
        return dict(zip(ROW, self.values, strict=True))


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """What is asked for; empty fields ask for everything."""

    until_seq: int
    """The moment: nothing later is told."""
    before_cycle: int | None = None
    agent: str = ""
    kind: str = ""
    rule: str = ""
    target: str = ""
    """A part of it is enough."""
    rail: str = ""
    became: str = ""
    lost: str = ""
    """An agent that wanted something and did not get it."""
    within_seconds: float | None = None
    """So much cluster time before the newest decision."""
    reward_below: float | None = None
    acts: bool = False
    """Leave out decisions to do nothing."""

    @property
    def is_open(self) -> bool:
        """Whether it leaves everything in."""
        asked = replace(self, until_seq=0, before_cycle=None)
        return asked == DecisionFilter(0)


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


def rows_of(entries: Sequence[DecisionEntry], asked: DecisionFilter) -> Json:
    """Return the newest rows that fit, runs of doing nothing folded, and what there is to choose from."""
    known = [entry for entry in entries if entry.seq <= asked.until_seq]
    newest_first = (_as_of(entry, asked.until_seq) for entry in reversed(known))
    begin = _begin(known, asked)
    fitting = [row for row in newest_first if _fits(row, asked, begin)]
    rows: list[Json] = []
    more = False
    for row in _folded(fitting):
        if len(rows) == LIMIT:
            more = True
            break
        rows.append(row)
    return {
        "rows": [{name: row[name] for name in row if name != "same"} for row in rows],
        "more": more,
        "decisions": len(known),
        "acted": sum(1 for entry in known if entry.told("noop") is None),
        "lost_to": _lost_to(fitting, asked.lost),
        "choices": _choices(known, asked.until_seq),
    }


def _begin(known: Sequence[DecisionEntry], asked: DecisionFilter) -> float:
    """Return the cluster time from which on decisions are asked for."""
    if asked.within_seconds is None or not known:
        return float("-inf")
    return float(known[-1].told("cluster_time_seconds")) - asked.within_seconds


def _lost_to(rows: Iterable[Json], agent: str) -> list[Json]:
    """Return what beat an agent in these decisions, the most frequent first; nothing where none is asked for."""
    counts = Counter(row["lost"][agent] for row in rows) if agent else Counter()
    return [
        {"rule": rule, "by": winner, "count": count}
        for (rule, winner), count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    ]


def _as_of(entry: DecisionEntry, seq: int) -> Json:
    became = [text for at, text in entry.became if at <= seq]
    rewards = [total for at, total in entry.rewards if at <= seq]
    return entry.row | {
        "recorded_ms": entry.recorded_ms,
        "agent": entry.agent,
        "kind": entry.kind,
        "same": entry.same,
        "lost": dict(entry.lost),
        "became": became[-1] if became else "",
        "reward": rewards[-1] if rewards else None,
        "rails": [rail for at, rail in entry.rails if at <= seq],
    }


def _fits(row: Json, asked: DecisionFilter, begin_seconds: float) -> bool:
    if row["cluster_time_seconds"] < begin_seconds or (
        asked.lost and asked.lost not in row["lost"]
    ):
        return False
    if asked.before_cycle is not None and row["cycle"] >= asked.before_cycle:
        return False
    if asked.acts and row["noop"] is not None:
        return False
    if asked.reward_below is not None and not (
        row["reward"] is not None and row["reward"] < asked.reward_below
    ):
        return False
    exact = ((asked.agent, row["agent"]), (asked.kind, row["kind"]), (asked.rule, row["rule"]))
    if any(wanted and wanted != value for wanted, value in exact):
        return False
    if asked.rail and asked.rail not in row["rails"]:
        return False
    if asked.became and asked.became not in row["became"].split(", "):
        return False
    targets = [row["target"], *(action["target"] for action in row["more"])]
    return not asked.target or any(asked.target in target for target in targets)


def _folded(rows: Iterable[Json]) -> Iterator[Json]:
    """Yield rows, newest first; those in a row to do nothing for the same reason are one, with their count."""
    run: Json | None = None
    for row in rows:
        if run is not None and row["noop"] is not None and row["same"] == run["same"]:
            run |= {"count": run["count"] + 1, "first": row["cycle"]}
            continue
        if run is not None:
            yield run
        run = row | {"count": 1, "first": row["cycle"]}
    if run is not None:
        yield run


def _choices(known: Sequence[DecisionEntry], seq: int) -> Json:
    """Return the values that occur, each with how often."""
    counted: dict[str, dict[str, int]] = {
        name: {} for name in ("agent", "kind", "rule", "rail", "became", "lost")
    }
    for entry in known:
        became = [text for at, text in entry.became if at <= seq]
        values = {
            "agent": {entry.agent},
            "kind": {entry.kind},
            "rule": {entry.told("rule")},
            "rail": {rail for at, rail in entry.rails if at <= seq},
            "lost": set(entry.lost),
            "became": set(became[-1].split(", ")) if became else set(),
        }
        for name, those in values.items():
            for value in those - {""}:
                counted[name][value] = counted[name].get(value, 0) + 1
    return {
        name: sorted(counts.items(), key=lambda one: (-one[1], one[0]))
        for name, counts in counted.items()
    }
