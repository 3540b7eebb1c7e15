"""Days of activity as events: the same fold as a report's, stored day by day, and put together again. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any

from projections.activity import ActionRow, Activity, DayRow, RiskRow
from schemas.envelope import Event
from schemas.rollup import (
    RollupAction,
    RollupDay,
    RollupOpen,
    RollupRefusal,
    RollupRisk,
    RollupTouched,
)

MOST_NAMES = 2_000
"""Objects of one resource that a day's event names; at 100 bytes each they stay below the 1 MiB of a message."""
MOST_OPEN = 1_000
"""Executions of a day that may still be verified when it is over; the newest."""
OTHERS = "(others)"
"""How objects appear that a day's event does not name."""


def day_event(
    activity: Activity, day: str, *, cluster: str, incarnation: str, last_seq: int
) -> RollupDay:
    """Return one day's activity as an event's data."""
    assert activity.first_time is not None
    assert activity.last_time is not None
    row = activity.days.get(day, DayRow())
    return RollupDay(
        day=day,
        cluster=cluster,
        incarnation=incarnation,
        last_seq=last_seq,
        first_time_seconds=activity.first_time,
        last_time_seconds=activity.last_time,
        currency=activity.currency,
        **_columns(row, DayRow),
        actions=tuple(
            RollupAction(label=label, **_columns(action, ActionRow))
            for label, action in sorted(activity.actions.items())
        ),
        touched=tuple(_touched(name, one) for name, one in sorted(activity.touched.items())),
        refusals=tuple(
            RollupRefusal(reason=reason, label=label, times=times, newest=activity.examples[reason])
            for reason, labels in sorted(activity.refusals.items())
            for label, times in sorted(labels.items())
        ),
        risks=tuple(
            RollupRisk(model_id=model, **_columns(risk, RiskRow))
            for model, risk in sorted(activity.risks.items())
        ),
        modes=dict(sorted(activity.modes.items())),
        breaker_trips=dict(sorted(activity.trips.items())),
        open=tuple(
            RollupOpen(decision_id=decision, part=part, label=label)
            for (decision, part), label in list(activity.unverified.items())[-MOST_OPEN:]
        ),
    )


def activity_of(data: RollupDay) -> Activity:
    """Return the activity that a day's event holds."""
    activity = Activity(first_time=data.first_time_seconds, last_time=data.last_time_seconds)
    activity.currency = data.currency
    activity.days[data.day] = DayRow(**_columns(data, DayRow))
    for action in data.actions:
        activity.actions[action.label] = ActionRow(**_columns(action, ActionRow))
    for touched in data.touched:
        writes = Counter(dict(zip(touched.names, touched.writes, strict=True)))
        if touched.others:
            writes[OTHERS] += touched.other_writes
        activity.touched[touched.resource] = writes
    for refusal in data.refusals:
        activity.refusals.setdefault(refusal.reason, Counter())[refusal.label] += refusal.times
        activity.examples[refusal.reason] = refusal.newest
    for risk in data.risks:
        activity.risks[risk.model_id] = RiskRow(**_columns(risk, RiskRow))
    activity.modes.update(data.modes)
    activity.trips.update(data.breaker_trips)
    for one in data.open:
        activity.unverified[one.decision_id, one.part] = one.label
    return activity


def merge(total: Activity, day: Activity) -> None:
    """Add what one activity holds to another, the older first."""
    for name, choose in (("first_time", min), ("last_time", max)):
        known = [at for at in (getattr(total, name), getattr(day, name)) if at is not None]
        setattr(total, name, choose(known) if known else None)
    total.currency = day.currency or total.currency
    for label, action in day.actions.items():
        _add(total.actions.setdefault(label, ActionRow()), action)
    for resource, writes in day.touched.items():
        total.touched.setdefault(resource, Counter()).update(writes)
    for reason, labels in day.refusals.items():
        total.refusals.setdefault(reason, Counter()).update(labels)
    total.examples |= day.examples
    for model, risk in day.risks.items():
        _add(total.risks.setdefault(model, RiskRow()), risk)
    for date, row in day.days.items():
        _add(total.days.setdefault(date, DayRow()), row)
    total.modes.update(day.modes)
    total.trips.update(day.trips)
    total.unverified |= day.unverified


class Days:
    """The fold by day: an event belongs to the day of its time; `last_seqs` says what a day holds already."""

    def __init__(self) -> None:
        """Begin without any day."""
        self.days: dict[str, Activity] = {}
        self.last_seqs: dict[str, int] = {}
        self.changed: set[str] = set()

    def restore(self, data: RollupDay, incarnation: str) -> None:
        """Go on with a stored day; of another start of the stack its sums stay and positions begin anew."""
        self.days[data.day] = activity_of(data)
        self.last_seqs[data.day] = data.last_seq if data.incarnation == incarnation else 0

    def add(self, event: Event[Any], seq: int) -> None:
        """Count an event at a position; one that is counted already is left out.

        A verification is counted with the day in which its execution was: there it is known what was done.
        """
        day = event.time[:10]
        if seq <= self.last_seqs.get(day, 0):
            return
        activity = self.days.setdefault(day, Activity())
        if day not in self.last_seqs:
            self._carry_unverified(activity, day)
        activity.add(event)
        self.last_seqs[day] = seq
        self.changed.add(day)

    def _carry_unverified(self, activity: Activity, day: str) -> None:
        """Let a new day verify what the day before began."""
        before = max((one for one in self.days if one < day), default=None)
        if before is not None:
            activity.unverified |= self.days[before].unverified
            self.days[before].unverified.clear()

    def forget_before(self, day: str) -> None:
        """Let days go that are stored and too old to change."""
        for old in [one for one in self.days if one < day and one not in self.changed]:
            del self.days[old], self.last_seqs[old]


def _touched(resource: str, writes: Counter[str]) -> RollupTouched:
    ordered = sorted(writes.items(), key=lambda item: (item[0] == OTHERS, -item[1], item[0]))
    named = [item for item in ordered if item[0] != OTHERS][:MOST_NAMES]
    rest = ordered[len(named) :]
    return RollupTouched(
        resource=resource,
        names=tuple(name for name, _ in named),
        writes=tuple(count for _, count in named),
        others=len(rest),
        other_writes=Counter(dict(rest)).total(),
    )


def _columns(row: Any, kind: Any) -> dict[str, Any]:
    return {one.name: getattr(row, one.name) for one in fields(kind)}


def _add(total: Any, more: Any) -> None:
    for one in fields(total):
        value = getattr(more, one.name)
        if isinstance(value, bool):
            setattr(total, one.name, getattr(total, one.name) or value)
        else:
            setattr(total, one.name, getattr(total, one.name) + value)
