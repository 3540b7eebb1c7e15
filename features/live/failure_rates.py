"""How often attempts fail on this very cluster, folded from what its snapshots show.

Problem: a model that learned one cluster is wrong about the level of another one, by a factor of three either way,
and a quarter of an hour later the cluster itself has said so. Here each level (cluster, kind of workload, owner,
program) counts the first failures that were expected by the ages of what ran and those that came; the factor of a
level is (strength x the level's above + observed) / (strength + expected), a Gamma prior's mean after Poisson counts.
So a new cluster begins at the rates of the data that the model learned from and comes to its own, and a program that
fails more often than others stands out. Workloads that have failed before are counted apart, as are machines, and
starts of attempts by node: half of what fails within a quarter of an hour is not there yet when the quarter begins.

What died with its machine is no failure of an attempt. Counts are halved every `half_life_seconds`. Everything is a
value; only what was in the log before an observation is in the rates that are used at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from features.codes import code_of, parts_of, program_of
from features.history import Kind
from features.live.age_hazard import F64, age_hazard
from features.live.pod_changes import MICROSECONDS, Change, PodSnapshot
from schemas.manifest import LiveRates

I64 = NDArray[np.int64]
SETTLING_SECONDS = 60.0
"""What starts this soon after the first look is the state found, not something that begins."""
UNSEEN_AGE_SECONDS = 7_200.0
"""Taken as the least age of an attempt that ran before anybody looked; our own guess."""
REPEATING_SECONDS = 6 * 3_600.0
"""How long a workload counts as one that has failed."""
GROUNDS_SECONDS = 3_600.0
MACHINE_SECONDS = 900.0
"""A failure this soon after its node was not ready is its machine's."""
MOST_NAMES = 5_000
LEAST_COUNT = 1e-6


@dataclass(frozen=True, slots=True)
class Tally:
    """Failures that came and that were expected."""

    observed: float = 0.0
    expected: float = 0.0

    def plus(self, observed: float, expected: float) -> Tally:
        """Return the tally with more of both."""
        return Tally(self.observed + observed, self.expected + expected)

    def times(self, factor: float) -> Tally:
        """Return the tally after some forgetting."""
        return Tally(self.observed * factor, self.expected * factor)

    def factor(self, prior: float, strength: float) -> float:
        """Return observed over expected, drawn towards a prior."""
        return (strength * prior + self.observed) / (strength + self.expected)


T = TypeVar("T")
Tallies = Mapping[str, Tally]
Times = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Due:
    """What is expected per second from an observation on."""

    programs: Mapping[str, float] = field(default_factory=dict)
    """First failures by program, before any factor."""
    running: float = 0.0
    """First failures of what runs, with the programs' factors."""
    coming: float = 0.0
    """The same of what will start within the horizon."""
    machines: float = 0.0
    """Machines that end what runs on them."""
    again: float = 0.0
    """Failures of what has failed before, as the model's booster expects them."""


@dataclass(frozen=True, slots=True)
class FailureRates:
    """The fold's state."""

    at: float = -1.0
    """Cluster time of the newest observation in it; below 0: none."""
    begun: float = 0.0
    cluster: Tally = Tally()
    again: Tally = Tally()
    running: Tally = Tally()
    coming: Tally = Tally()
    machines: Tally = Tally()
    levels: Tallies = field(default_factory=dict)
    """By kind (`Job`), owner (`namespace/Job`) and program (`namespace/Job/name`)."""
    placed: Times = field(default_factory=dict)
    """When the newest attempt of each row began."""
    failed: Times = field(default_factory=dict)
    """When each workload, program (`program:` before it), owner (`owner:`) and machine (`machine:`) failed last."""
    lost: Times = field(default_factory=dict)
    """When each node was last seen not ready."""
    starts: Mapping[str, float] = field(default_factory=dict)
    """Starts of attempts by node, halved every `starts_half_life_seconds`."""
    program_starts: Mapping[str, float] = field(default_factory=dict)
    due: Due = Due()

    def after(
        self,
        snapshot: PodSnapshot,
        changes: Sequence[Change],
        ready: Mapping[str, bool],
        rules: LiveRates,
        *,
        found: bool = False,
    ) -> FailureRates:
        """Return the rates after one snapshot.

        Args:
            snapshot: what is there now.
            changes: what happened since the one before, in order of time.
            ready: whether each node is ready.
            rules: what the model says of how to count.
            found: whether nobody knows what was there before, so that starts are the state found.
        """
        now = snapshot.time_us / MICROSECONDS
        first_look = self.at < 0
        begun = now if first_look else self.begun
        step = 0.0 if first_look else max(0.0, now - self.at)
        rates = replace(self._decayed(step, rules), at=now, begun=begun)
        lost = {name: at for name, at in self.lost.items() if now - at <= MACHINE_SECONDS}
        lost |= dict.fromkeys((name for name, is_ready in ready.items() if not is_ready), now)
        counted = _Counting(rates, lost, rules.horizon_seconds)
        for change in changes:
            counted.take(change, found=found or first_look or now - begun <= SETTLING_SECONDS)
        present = frozenset(snapshot.placed.ids)
        unseen = now - UNSEEN_AGE_SECONDS
        placed = {row: counted.placed.get(row, unseen) for row in snapshot.placed.ids}
        rates = replace(
            rates,
            cluster=counted.cluster,
            again=counted.again,
            running=counted.running,
            coming=counted.coming,
            machines=rates.machines.plus(float(len(counted.machines)), 0.0),
            levels=_newest(counted.levels),
            placed=placed if present else {},
            failed=_newest({n: at for n, at in counted.failed.items() if now - at <= _kept(n)}),
            lost=lost,
            starts=counted.starts,
            program_starts=counted.program_starts,
        )
        return replace(rates, due=_due(rates, snapshot, ready, rules))

    def expecting_again(self, per_second: float) -> FailureRates:
        """Return the rates with what the model's booster expects of the workloads that have failed."""
        return replace(self, due=replace(self.due, again=per_second))

    def repeats(self, snapshot: PodSnapshot) -> bool:
        """Say whether anything that runs is of a workload that has failed."""
        failed = {code_of(name) for name in self.failed if ":" not in name}
        return bool(failed) and not failed.isdisjoint(snapshot.placed.job.tolist())

    def factors(self, programs: Iterable[str], rules: LiveRates) -> dict[str, float]:
        """Return the factor of each program (`namespace/Kind/name`)."""
        strength, none = rules.strength_failures, Tally()
        top = self.cluster.factor(1.0, strength)
        found: dict[str, float] = {}
        for program in programs:
            owner = program.rpartition("/")[0]
            kind = owner.rpartition("/")[2]
            factor = top
            for level in (kind, owner, program):
                factor = self.levels.get(level, none).factor(factor, strength)
            found[program] = factor
        return found

    def again_factor(self, rules: LiveRates) -> float:
        """Return how much oftener than the booster says what has failed fails again."""
        return self.again.factor(1.0, rules.strength_failures)

    def running_factor(self, rules: LiveRates) -> float:
        """Return how much oftener what runs fails within the horizon than ages and programs make expect."""
        return self.running.factor(1.0, rules.strength_failures)

    def coming_factor(self, rules: LiveRates) -> float:
        """Return the same of what starts within the horizon."""
        return self.coming.factor(1.0, rules.strength_failures)

    def machine_rate(self, rules: LiveRates) -> float:
        """Return how often a machine ends what runs on it within the horizon."""
        return rules.machines * self.machines.factor(1.0, rules.strength_failures)

    def has_failed(self, name: str, within_seconds: float) -> bool:
        """Say whether something failed lately, by its name in `failed`."""
        at = self.failed.get(name)
        return at is not None and self.at - at <= within_seconds

    def program_failed(self, workload: str, within_seconds: float) -> bool:
        """Say whether a run of a workload's program failed lately."""
        return self.has_failed(f"program:{program_of(workload)}", within_seconds)

    def owner_failed(self, workload: str, within_seconds: float) -> bool:
        """Say whether anything of a workload's owner failed lately."""
        return self.has_failed(f"owner:{workload.partition('/')[0]}", within_seconds)

    def expected_starts(self, nodes: Sequence[str], rules: LiveRates) -> list[float]:
        """Return how many attempts are expected to start on each node within the horizon.

        Args:
            nodes: those on which anything can start.
            rules: the model's.
        """
        half_life = rules.starts_half_life_seconds
        if not nodes:
            return []
        # Of less than a horizon nothing is extrapolated: the first start after five seconds is no flood.
        watched = max(self.at - self.begun - SETTLING_SECONDS, rules.horizon_seconds)
        seen = 1.0 - 0.5 ** (watched / half_life)
        scale = rules.horizon_seconds * 0.6931471805599453 / half_life / seen
        counts = [self.starts.get(node, 0.0) for node in nodes]
        mean = sum(counts) / len(counts)
        strength = rules.starts_strength
        return [scale * mean * (strength + count) / (strength + mean) for count in counts]

    def of_a_start(self, rules: LiveRates) -> float:
        """Return the failures that one start within the horizon is expected to bring before its end."""
        total = sum(self.program_starts.values())
        first = age_hazard(rules.ages_seconds, rules.first)
        base = first.of_a_start_within(rules.horizon_seconds)
        if total <= 0.0:
            return base * self.cluster.factor(1.0, rules.strength_failures)
        factors = self.factors(self.program_starts, rules)
        mixed = sum(count * factors[name] for name, count in self.program_starts.items())
        return base * mixed / total

    def _decayed(self, step: float, rules: LiveRates) -> FailureRates:
        """Return the counts after `step` seconds in which what was due was expected."""
        kept = 0.5 ** (step / rules.half_life_seconds)
        levels = {name: tally.times(kept) for name, tally in self.levels.items()}
        expected = 0.0
        for program, per_second in self.due.programs.items():
            more = per_second * step
            expected += more
            owner = program.rpartition("/")[0]
            for level in (owner.rpartition("/")[2], owner, program):
                levels[level] = levels.get(level, Tally()).plus(0.0, more)
        kept_starts = 0.5 ** (step / rules.starts_half_life_seconds)
        return replace(
            self,
            cluster=self.cluster.times(kept).plus(0.0, expected),
            again=self.again.times(kept).plus(0.0, self.due.again * step),
            running=self.running.times(kept).plus(0.0, self.due.running * step),
            coming=self.coming.times(kept).plus(0.0, self.due.coming * step),
            machines=self.machines.times(kept).plus(0.0, self.due.machines * step),
            levels=levels,
            starts=_fewer(self.starts, kept_starts),
            program_starts=_fewer(self.program_starts, kept_starts),
        )


class _Counting:
    """What one snapshot's changes add; filled in order."""

    def __init__(self, rates: FailureRates, lost: Times, horizon_seconds: float) -> None:
        self.cluster, self.again = rates.cluster, rates.again
        self.running, self.coming = rates.running, rates.coming
        self.levels = dict(rates.levels)
        self.placed, self.failed = dict(rates.placed), dict(rates.failed)
        self.starts, self.program_starts = dict(rates.starts), dict(rates.program_starts)
        self.machines: set[str] = set()
        self._ended = ("", 0)
        """Row and task that failed just now: a container that is restarted then stays where it is, and is no start."""
        self._lost, self._horizon_seconds = lost, horizon_seconds

    def take(self, change: Change, *, found: bool) -> None:
        """Count one change; `found`: at the first look, when starts are the state found."""
        node, workload, _ = parts_of(change.row_id)
        at = change.time_us / MICROSECONDS
        if change.kind is Kind.SCHEDULE:
            self.placed[change.row_id] = at
            again = self._ended == (change.row_id, change.task)
            if not found and not again:
                program = program_of(workload)
                self.starts[node] = self.starts.get(node, 0.0) + 1.0
                self.program_starts[program] = self.program_starts.get(program, 0.0) + 1.0
        self._ended = (change.row_id, change.task) if change.kind is Kind.FAIL else ("", 0)
        if change.kind is Kind.FAIL and node:
            began = self.placed.get(change.row_id, at - self._horizon_seconds)
            self._fail(node, workload, at, at - began)

    def _fail(self, node: str, workload: str, at: float, age: float) -> None:
        if workload in self.failed and at - self.failed[workload] <= REPEATING_SECONDS:
            self.again = self.again.plus(1.0, 0.0)
            self._note(node, workload, at)
            return
        if at - self._lost.get(node, -MACHINE_SECONDS - 1.0) <= MACHINE_SECONDS:
            self.machines.add(node)
            return
        program = program_of(workload)
        owner = program.rpartition("/")[0]
        self.cluster = self.cluster.plus(1.0, 0.0)
        for level in (owner.rpartition("/")[2], owner, program):
            self.levels[level] = self.levels.get(level, Tally()).plus(1.0, 0.0)
        # Of the horizon before it, it was there for this part, and was still to start in the rest.
        there = min(1.0, max(0.0, age) / self._horizon_seconds)
        self.running = self.running.plus(there, 0.0)
        self.coming = self.coming.plus(1.0 - there, 0.0)
        self._note(node, workload, at)

    def _note(self, node: str, workload: str, at: float) -> None:
        program = program_of(workload)
        owner = program.partition("/")[0]
        for name in (workload, f"program:{program}", f"owner:{owner}", f"machine:{node}"):
            self.failed.pop(name, None)  # the newest stands last
            self.failed[name] = at


def _kept(name: str) -> float:
    return GROUNDS_SECONDS if ":" in name else REPEATING_SECONDS


def _newest(items: Mapping[str, T]) -> dict[str, T]:
    """Return at most so many, the newest of them."""
    return dict(list(items.items())[-MOST_NAMES:])


def _fewer(counts: Mapping[str, float], factor: float) -> dict[str, float]:
    fewer = {name: count * factor for name, count in counts.items()}
    return {name: count for name, count in fewer.items() if count > LEAST_COUNT}


@dataclass(frozen=True, slots=True)
class RowRates:
    """Of each row of a snapshot: its program, whether its workload has failed, its ages' hazard."""

    programs: tuple[str, ...]
    """Distinct ones, in the order of their codes."""
    program: I64
    """Number of each row's program."""
    repeats: NDArray[np.bool_]
    ages: F64

    @classmethod
    def of(cls, rates: FailureRates, snapshot: PodSnapshot, rows: I64) -> RowRates:
        """Look some rows of the newest snapshot up."""
        placed = snapshot.placed
        _, firsts, program = np.unique(placed.name[rows], return_index=True, return_inverse=True)
        ids = [placed.ids[row] for row in rows.tolist()]
        names = tuple(program_of(parts_of(ids[place])[1]) for place in firsts.tolist())
        began = np.array([rates.placed.get(row_id, rates.at) for row_id in ids])
        workloads = rates.failed
        repeats = np.array([parts_of(row_id)[1] in workloads for row_id in ids], dtype=np.bool_)
        return cls(names, program, repeats, np.maximum(rates.at - began, 0.0))


def _due(
    rates: FailureRates, snapshot: PodSnapshot, ready: Mapping[str, bool], rules: LiveRates
) -> Due:
    placed = snapshot.placed
    rows = RowRates.of(rates, snapshot, np.arange(len(placed)))
    pods = placed.pods.astype(np.float64)
    clean = np.where(rows.repeats, 0.0, pods)
    first = age_hazard(rules.ages_seconds, rules.first)
    soon = first.within(rows.ages, 1.0) * clean
    by_program = np.bincount(rows.program, weights=soon, minlength=len(rows.programs))
    factors = rates.factors(rows.programs, rules)
    factor = np.array([factors[name] for name in rows.programs])[rows.program]
    running = first.within(rows.ages, rules.horizon_seconds) * clean * factor
    open_nodes = [name for name, is_ready in ready.items() if is_ready]
    coming = sum(rates.expected_starts(open_nodes, rules)) * rates.of_a_start(rules)
    named = zip(rows.programs, by_program.tolist(), strict=True)
    return Due(
        {name: value for name, value in named if value > 0.0},
        sum(running.tolist()) / rules.horizon_seconds,
        coming / rules.horizon_seconds,
        rules.machines * len(ready) / rules.horizon_seconds,
    )
