"""Two recordings beside each other, cycle by cycle: where do their decisions part?

Cycles are aligned by number. Only a window of open cycles is held, so recordings may be of any
length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from bus.events import event_of
from bus.port import StoredMessage
from bus.recording import Recording, open_recording
from lab.rerun.changes import WINDOW_SECONDS
from lab.rerun.what_if import CLASSES, LISTED, DecisionChange, change_between
from projections.policy_totals import PolicyTotals
from schemas.decision import Decision
from schemas.envelope import attributes_of
from schemas.outcome import OutcomeReward
from schemas.registry import UnknownEvent
from schemas.upcast import newest_type

COUNTED = frozenset({Decision.TYPE, OutcomeReward.TYPE})
REACH = 10_000
"""Cycles that one recording may run ahead of the other before its rest counts as alone."""


@dataclass(slots=True)
class DiffSide:
    """One of the two recordings."""

    file: str
    cluster: str
    totals: PolicyTotals
    events: int = 0
    alone: int = 0
    """Cycles decided in this recording only."""
    damage: str = ""
    grows: bool = False
    """It ended where it did since it is still being written."""
    unreadable: int = 0
    """Decisions and rewards that are no events of today's schemas."""


@dataclass(slots=True)
class Diff:
    """Differences of two recordings."""

    sides: tuple[DiffSide, DiffSide]
    settings: list[tuple[str, Any, Any]]
    """Settings of the headers that differ."""
    classes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))
    listed: list[DecisionChange] = field(default_factory=list)
    cycles: tuple[int, int] = (0, 0)
    """The first and the last cycle that both decided."""

    @property
    def same(self) -> bool:
        """Whether nothing differs: no decision, no cycle of one side alone, nothing unreadable."""
        alone = any(side.alone or side.unreadable for side in self.sides)
        return not alone and all(self.classes[name] == 0 for name in CLASSES[1:])

    @property
    def compared(self) -> int:
        """Cycles that both decided."""
        return sum(self.classes.values())

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "same": self.same,
            "compared": self.compared,
            "decisions": self.classes,
            "sides": [
                {
                    "file": side.file,
                    "cluster": side.cluster,
                    "messages": side.events,
                    "cycles_alone": side.alone,
                    "damage": side.damage,
                    "grows": side.grows,
                    "unreadable": side.unreadable,
                    **side.totals.as_json(),
                }
                for side in self.sides
            ],
            "settings": [
                {"name": setting[0], "a": setting[1], "b": setting[2]} for setting in self.settings
            ],
            "differing": [
                {
                    "cycle": one.cycle,
                    "kind": one.kind,
                    "a": one.before,
                    "b": one.after,
                    "a_why": one.before_why,
                    "b_why": one.after_why,
                }
                for one in self.listed
            ],
        }


def diff(
    a: Path,
    b: Path,
    window_seconds: float = WINDOW_SECONDS,
    *,
    on_message: Callable[[StoredMessage], None] | None = None,
) -> Diff:
    """Compare two recordings' decisions and rewards.

    Args:
        a: a recording.
        b: another one.
        window_seconds: an action undone within so much cluster time counts as churn.
        on_message: called with every message of both, for progress.

    Raises:
        InputError: one of them cannot be read.
    """
    first, second = open_recording(a), open_recording(b)
    sides = tuple(
        DiffSide(
            path.name,
            f"{one.header.get('cluster')}/{one.header.get('incarnation')}",
            PolicyTotals(window_seconds=window_seconds),
        )
        for path, one in ((a, first), (b, second))
    )
    difference = Diff((sides[0], sides[1]), _settings(first.header, second.header))
    open_a: dict[int, Decision] = {}
    open_b: dict[int, Decision] = {}
    decisions = (
        _decisions(recording, side, on_message)
        for recording, side in zip((first, second), sides, strict=True)
    )
    for left, right in zip_longest(*decisions):
        for one, mine, theirs in ((left, open_a, open_b), (right, open_b, open_a)):
            if one is None:
                continue
            other = theirs.pop(one.cycle, None)
            if other is None:
                mine[one.cycle] = one
                continue
            _add(difference, *((one, other) if mine is open_a else (other, one)))
        for side, waiting in ((sides[0], open_a), (sides[1], open_b)):
            while len(waiting) > REACH:
                waiting.pop(next(iter(waiting)))
                side.alone += 1
    sides[0].alone += len(open_a)
    sides[1].alone += len(open_b)
    for side, recording in zip(sides, (first, second), strict=True):
        side.damage = recording.damage
    return difference


def _add(difference: Diff, decision: Decision, other: Decision) -> None:
    change = change_between(0, decision, other)
    difference.classes["same" if change is None else change.kind] += 1
    first, last = difference.cycles if difference.compared > 1 else (decision.cycle, decision.cycle)
    difference.cycles = (min(first, decision.cycle), max(last, decision.cycle))
    if change is not None and len(difference.listed) < LISTED:
        difference.listed.append(change)


def _decisions(
    recording: Recording, side: DiffSide, on_message: Callable[[StoredMessage], None] | None
) -> Iterator[Decision]:
    """Yield decisions in order; everything counted is counted on the way."""
    for message in recording:
        side.events += 1
        if on_message is not None:
            on_message(message)
        if newest_type(attributes_of(message.headers).get("type", "")) not in COUNTED:
            continue
        try:
            data: Any = event_of(message).data
        except UnknownEvent:
            side.unreadable += 1
            continue
        side.totals.add(data)
        if isinstance(data, Decision):
            yield data


def _settings(a: dict[str, Any], b: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return the settings that differ, by full name; none where a recording does not say what it was started with."""
    if not (a.get("settings") and b.get("settings")):
        return []
    old, new = dict(_flat("", a["settings"])), dict(_flat("", b["settings"]))
    names = sorted(old.keys() | new.keys())
    return [
        (name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)
    ]


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else name, inner)
    else:
        yield prefix, value
