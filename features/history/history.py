"""History: everything a feature may look back at, as one immutable value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from features.history.counted_under import (
    anchor_keys,
    distinct,
    event_keys,
    job_event_keys,
)
from features.history.events import (
    Anchors,
    Events,
    JobEvents,
    Kind,
    MachineEvents,
    TaskEvents,
)
from features.history.firsts import count_clean, count_firsts, with_first_fails
from features.history.ledger import Ledger
from features.history.own import OWN, Own
from features.history.ratios import ratio_columns
from features.history.sets import FeatureSet
from features.history.steps import (
    JOB_MARKS,
    JOB_TOTALS,
    MACHINE_MARKS,
    MACHINE_TOTALS,
    MARKS,
    TOTAL,
    TOTALS,
    job_steps,
    machine_steps,
    task_steps,
)
from features.history.tables import F32, I64, Table

HOUR_US = 3_600_000_000
IDLE_US: Mapping[str, int] = {"task": 6 * HOUR_US, "job": 24 * HOUR_US}
"""How long a key without event and without running attempt is remembered; others: a week."""
WEEK_US = 7 * 24 * HOUR_US
WHOLE_JOBS = "_jobs"
"""Ends the name of a key that events of whole jobs are counted under."""
CAPACITY = "capacity"
"""The ledger of machine events."""
LEDGER_COLUMNS = ("key", "time_us", "first_us", "totals", "marks", "outcomes")
RECENT: Mapping[str, type[Table]] = {
    "tasks": TaskEvents,
    "jobs": JobEvents,
    "machines": MachineEvents,
}
T = TypeVar("T", bound=Table)


@dataclass(frozen=True, slots=True)
class History:
    """History so far. `extended` and `trimmed` return new values; nothing changes in place.

    Memory is bounded by the keys that are remembered (see `IDLE_US`) plus the events of the longest
    window, when `trimmed` is called now and then.
    """

    feature_set: FeatureSet
    ledgers: Mapping[str, Ledger]
    recent: Events = field(default_factory=Events)
    """The events that windows of anchors from `from_us` on can reach."""
    newest_us: int = -1
    """Time of the newest task event."""
    from_us: int = -1
    """Anchors before this cannot be answered any more."""

    @classmethod
    def begin(cls, feature_set: FeatureSet) -> History:
        """Return the history of nothing."""
        ledgers = {key: _empty(key) for key in feature_set.keys}
        ledgers[CAPACITY] = Ledger.empty(len(MACHINE_TOTALS), len(MACHINE_MARKS), WEEK_US * 520)
        return cls(feature_set, ledgers)

    def extend(self, events: Events) -> History:
        """Return this history with more events, none earlier than the newest so far.

        Raises:
            ValueError: events are out of order, or from before what was trimmed to.
        """
        tasks = events.tasks
        newest = self.newest_us
        if len(tasks):
            if tasks.time_us[0] < newest or np.any(np.diff(tasks.time_us) < 0):
                raise ValueError("task events go back in time: give them sorted by time")
            newest = int(tasks.time_us[-1])
        for table in (tasks, events.jobs, events.machines):
            if len(table) and table.time_us[0] < self.from_us:
                raise ValueError(
                    "an event is older than what was trimmed to: trim no further than "
                    "everything is known"
                )
        ledgers = dict(self.ledgers)
        _count_tasks(ledgers, self.feature_set.keys, tasks)
        _count_jobs(ledgers, self.feature_set.keys, events.jobs)
        if len(events.machines):
            ledgers[CAPACITY], _, _ = ledgers[CAPACITY].extend(machine_steps(events.machines))
        recent = self.recent.concat(events)
        return replace(self, ledgers=ledgers, newest_us=newest, recent=recent)

    def features(self, anchors: Anchors, feature_set: FeatureSet | None = None) -> F32:
        """Return (anchors, features): columns as in `feature_set.features`, NaN where missing.

        Args:
            anchors: the questions.
            feature_set: another set, counted under the same keys and over the same windows; None: its own.

        Raises:
            ValueError: an anchor lies before what this history was trimmed to.
        """
        chosen = self.feature_set if feature_set is None else feature_set
        if len(anchors) and anchors.time_us.min() < self.from_us:
            raise ValueError("an anchor is older than what was kept: ask before trimming")
        out = np.empty((len(anchors), len(chosen.names)), dtype=np.float32)
        distinct_keys = distinct(anchors.machine, anchors.time_us)
        own = Own.of(anchors, distinct_keys, self.ledgers[CAPACITY], self.ledgers["machine"])
        for column, name in enumerate(chosen.own):
            out[:, column] = OWN[name].compute(own)
        column = len(chosen.own)
        for block in chosen.blocks:
            keys, times, inverse = distinct(anchor_keys(block.key, anchors), anchors.time_us)
            values = block.values(self.ledgers[block.key], keys, times)
            out[:, column : column + block.width] = values[inverse]
            column += block.width
        if chosen.ratios:
            out[:, column:] = ratio_columns(chosen.ratios, chosen.names[:column], out[:, :column])
        return out

    def trim(self, now_us: int, most_keys: int | None = None) -> History:
        """Return what anchors at `now_us` or later need: their features stay the same, bit for bit.

        Every event before `now_us` must be in already: what came since decides what is forgotten.
        `most_keys` bounds memory beyond what the rule of forgetting does: of each key's values
        without an event in its longest window at most so many stay. Where that bound is hit,
        a dropped value is new again at its next event.
        """
        now_us = max(now_us, self.from_us)
        ledgers = {
            key: ledger.trim(now_us, self._window_us(key), most_keys)
            for key, ledger in self.ledgers.items()
        }
        recent = Events(
            _since(self.recent.tasks, now_us - self.feature_set.window_us(of_jobs=False)),
            _since(self.recent.jobs, now_us - self.feature_set.window_us(of_jobs=True)),
            _since(self.recent.machines, now_us),
        )
        return replace(self, ledgers=ledgers, recent=recent, from_us=now_us)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything as named arrays of whole numbers and floats, for a checkpoint.

        The rows of the last hour are not in it but the events that made them, which are far fewer.
        """
        state: dict[str, NDArray[Any]] = {"times_us": np.array([self.newest_us, self.from_us])}
        for key, ledger in self.ledgers.items():
            base = ledger.before(self.from_us - self._window_us(key))
            for column in LEDGER_COLUMNS:
                state[f"{key}.{column}"] = getattr(base, column)
        for name in RECENT:
            table = getattr(self.recent, name)
            for item in fields(table):
                state[f"recent_{name}.{item.name}"] = getattr(table, item.name)
        return state

    @classmethod
    def of_state(cls, feature_set: FeatureSet, state: Mapping[str, NDArray[Any]]) -> History:
        """Return the history whose `state` this is; it answers the same, bit for bit.

        Raises:
            KeyError: an array is missing: the state is another feature set's.
            ValueError: an array has other columns: it is another version's.
        """
        begun = cls.begin(feature_set)
        ledgers = {}
        for key, ledger in begun.ledgers.items():
            columns: dict[str, Any] = {name: state[f"{key}.{name}"] for name in LEDGER_COLUMNS}
            ledgers[key] = replace(ledger, **columns)
            for name in ("totals", "marks"):
                if columns[name].shape[1:] != getattr(ledger, name).shape[1:]:
                    raise ValueError(f"{key}.{name} has other columns: another version's state")
        tables: dict[str, Any] = {}
        for name, kind in RECENT.items():
            columns = {i.name: state[f"recent_{name}.{i.name}"] for i in fields(kind)}
            tables[name] = kind(**columns)
        newest_us, from_us = (int(value) for value in state["times_us"])
        history = replace(begun, ledgers=ledgers).extend(Events(**tables))
        return replace(history, newest_us=newest_us, from_us=from_us)

    def _window_us(self, key: str) -> int:
        """Return how far back before `from_us` a ledger and `recent` reach."""
        return 0 if key == CAPACITY else self.feature_set.window_us(key.endswith(WHOLE_JOBS))


def _since(table: T, time_us: int) -> T:
    times: I64 = table.time_us  # type: ignore[attr-defined]  # every table of events has it
    return table.rows(slice(int(np.searchsorted(times, time_us)), None))


def _empty(key: str) -> Ledger:
    idle_us = IDLE_US.get(key, WEEK_US)
    if key.endswith(WHOLE_JOBS):
        return Ledger.empty(JOB_TOTALS, JOB_MARKS, idle_us)
    return Ledger.empty(len(TOTALS), len(MARKS), idle_us, TOTAL["running"])


def _count_tasks(ledgers: dict[str, Ledger], keys: Sequence[str], tasks: TaskEvents) -> None:
    """Count task events under each key of `ledgers`; tasks and jobs tell the others of firsts."""
    if not len(tasks):
        return
    steps = task_steps(tasks)
    for key in keys:
        if key.endswith(WHOLE_JOBS):
            continue
        numbers = event_keys(key, tasks)
        known = np.flatnonzero(numbers >= 0)
        piece = replace(steps.rows(known), key=numbers[known])
        if key == "job":
            rows, which = ledgers[key].continue_rows(piece)
            piece = with_first_fails(piece, rows, which)
        ledgers[key], rows, which = ledgers[key].extend(piece)
        if key in ("task", "job"):
            count_firsts(key, steps, rows, known[which])
        if key == "job":
            starts = tasks.kind == Kind.SCHEDULE
            started_us = np.where(starts, tasks.time_us, tasks.attempt_start_us)
            count_clean(steps, started_us, rows, known[which])


def _count_jobs(ledgers: dict[str, Ledger], keys: Sequence[str], jobs: JobEvents) -> None:
    """Count events of whole jobs."""
    if not len(jobs):
        return
    steps = job_steps(jobs)
    for key in keys:
        if key.endswith(WHOLE_JOBS):
            numbers = job_event_keys(key, jobs)
            known = np.flatnonzero(numbers >= 0)
            piece = replace(steps.rows(known), key=numbers[known])
            ledgers[key], _, _ = ledgers[key].extend(piece)
