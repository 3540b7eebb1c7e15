"""The list of decisions: those that fit what is asked for, as they stood at any moment. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from services.dashboard.cycle_json import Json
from services.dashboard.decision_book import DecisionBook
from services.dashboard.decision_entry import CHOICES, DecisionEntry, Tally

LIMIT = 200
"""Rows of one answer."""


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


def rows_of(decisions: DecisionBook, asked: DecisionFilter) -> Json:
    """Return the newest rows that fit, runs of doing nothing folded, and what there is to choose from."""
    until_seq, tally = asked.until_seq, decisions.tally(asked.until_seq)
    begin = _begin(decisions, asked)
    newest_first = decisions.newest_first(until_seq, partial(_may_hold, asked))
    fitting: Iterable[DecisionEntry] = (
        entry for entry in newest_first if _fits(entry, asked, begin)
    )
    if asked.lost:
        fitting = list(fitting)
    rows: list[Json] = []
    more = False
    for row in _folded(fitting, until_seq):
        if len(rows) == LIMIT:
            more = True
            break
        rows.append(row)
    return {
        "rows": rows,
        "more": more,
        "decisions": tally.decisions,
        "acted": tally.acted,
        "lost_to": _lost_to(fitting, asked.lost),
        "choices": tally.choices(),
    }


def _may_hold(asked: DecisionFilter, tally: Tally) -> bool:
    """Say whether any of those that were counted may fit."""
    if asked.acts and not tally.acted:
        return False
    exact = ((name, getattr(asked, name)) for name in CHOICES)
    return all(one in tally.counts for one in exact if one[1])


def _begin(decisions: DecisionBook, asked: DecisionFilter) -> float:
    """Return the cluster time from which on decisions are asked for."""
    newest = next(decisions.newest_first(asked.until_seq), None)
    if asked.within_seconds is None or newest is None:
        return float("-inf")
    return float(newest.told("cluster_time_seconds")) - asked.within_seconds


def _lost_to(entries: Iterable[DecisionEntry], agent: str) -> list[Json]:
    """Return what beat an agent in these decisions, the most frequent first; nothing where none is asked for."""
    counts = Counter(entry.lost[agent] for entry in entries) if agent else Counter()
    return [
        {"rule": rule, "by": winner, "count": count}
        for (rule, winner), count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    ]


def _row(entry: DecisionEntry, seq: int) -> Json:
    """Return the row of a decision as it stood at a position, of one that is not folded."""
    rewards = [total for at, total in entry.rewards if at <= seq]
    return entry.row | {
        "recorded_ms": entry.recorded_ms,
        "agent": entry.agent,
        "kind": entry.kind,
        "lost": dict(entry.lost),
        "became": entry.became_by(seq),
        "reward": rewards[-1] if rewards else None,
        "rails": entry.rails_by(seq),
        "count": 1,
        "first": entry.told("cycle"),
    }


def _fits(entry: DecisionEntry, asked: DecisionFilter, begin_seconds: float) -> bool:
    """Say whether a decision is asked for, as it stood at the moment that is."""
    seq = asked.until_seq
    if entry.told("cluster_time_seconds") < begin_seconds or (
        asked.lost and asked.lost not in entry.lost
    ):
        return False
    if asked.before_cycle is not None and entry.told("cycle") >= asked.before_cycle:
        return False
    if asked.acts and entry.told("noop") is not None:
        return False
    if asked.reward_below is not None:
        rewards = [total for at, total in entry.rewards if at <= seq]
        if not rewards or rewards[-1] >= asked.reward_below:
            return False
    exact = ((asked.agent, entry.agent), (asked.kind, entry.kind), (asked.rule, entry.told("rule")))
    if any(wanted and wanted != value for wanted, value in exact):
        return False
    if asked.rail and asked.rail not in entry.rails_by(seq):
        return False
    if asked.became and asked.became not in entry.became_by(seq).split(", "):
        return False
    if not asked.target:
        return True
    targets = (entry.told("target"), *(action["target"] for action in entry.told("more")))
    return any(asked.target in target for target in targets)


def _folded(entries: Iterable[DecisionEntry], seq: int) -> Iterator[Json]:
    """Yield rows, newest first; those in a row to do nothing for the same reason are one, with their count."""
    run: Json | None = None
    same: tuple[object, ...] = ()
    for entry in entries:
        if run is not None and entry.told("noop") is not None and entry.same == same:
            run["count"] += 1
            run["first"] = entry.told("cycle")
            continue
        if run is not None:
            yield run
        run, same = _row(entry, seq), entry.same
    if run is not None:
        yield run
