"""Who is admitted next: rounds over the heads of all queues, until none of them gets in.

In each round the first waiting Workload of every queue is given flavors; who fits its own quota comes before who
borrows, then higher priority, then age. Source: concepts/cluster_queue.md, concepts/preemption.md. Pure: it changes
the snapshot, and says what is to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from twin.config.kueue import KueueConfig
from twin.kueue.flavors import Assigner, Assignment, Mode
from twin.kueue.preemption import Need, PreemptibleWorkload, find_targets, try_preemption
from twin.kueue.snapshot import Queue, QueueSnapshot
from twin.kueue.tree import FlavorResource
from twin.kueue.workload import Info

_BY_AGE = "LowerOrNewerEqualPriority"
"""The one policy by which equals fare differently."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a Workload waits: reason and message of its condition QuotaReserved."""

    info: Info
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Admission:
    """A Workload that gets its quota."""

    info: Info
    assignment: Assignment


@dataclass(frozen=True, slots=True)
class Preemption:
    """A Workload that gives way to another, and why."""

    victim: Info
    preemptor: Info
    reason: str


@dataclass(slots=True)
class Outcome:
    """What one pass over the queues decided, in order."""

    admissions: list[Admission] = field(default_factory=list)
    preemptions: list[Preemption] = field(default_factory=list)
    refusals: dict[str, Refusal] = field(default_factory=dict)
    """The last one of each Workload, by uid."""


@dataclass(slots=True, eq=False)
class Entry:
    """A head with its flavors."""

    info: Info
    queue: Queue
    assignment: Assignment
    targets: list[PreemptibleWorkload]


Kind = tuple[str, bytes, int]
"""Queue, shape and priority: who shares them fares alike as long as quota only gets less."""
Check = Callable[[Info, Queue], tuple[str, str] | None]
"""Says, by reason and message, why a Workload may not use a queue at all."""


class Scheduler:
    """One pass over all queues."""

    def __init__(
        self, snapshot: QueueSnapshot, waiting: Iterable[Info], config: KueueConfig, check: Check
    ) -> None:
        """Order what waits; `check` is asked about each Workload once."""
        self._snapshot = snapshot
        self._config = config
        self._check = check
        self._lines: dict[str, list[Info]] = {}
        for info in waiting:
            self._lines.setdefault(info.queue, []).append(info)
        for line in self._lines.values():
            line.sort(key=lambda info: info.place, reverse=True)  # the head is the last one
        self._victims: set[str] = set()
        self._held: list[tuple[Queue, Mapping[FlavorResource, int]]] = []
        self._hopeless: dict[Kind, tuple[str, str]] = {}
        self.outcome = Outcome()

    def run(self, *, one_by_one: bool, ready: bool) -> Outcome:
        """Admit whom there is quota for; `one_by_one`: a single one, once all others are `ready`."""
        while True:
            entries = self._nominate()
            if not entries:
                return self.outcome
            entries.sort(key=lambda e: (e.assignment.borrowing, *e.info.rank))
            for entry in entries:
                blocked = one_by_one and (not ready or bool(self.outcome.admissions))
                self._process(entry, blocked=blocked)
            for queue, amounts in self._held:
                for key, amount in amounts.items():
                    queue.free(key, amount)
            self._held = []

    def _nominate(self) -> list[Entry]:
        """Take the heads of all queues and give them flavors."""
        entries = []
        for name in sorted(self._lines):
            queue = self._snapshot.queues[name]
            while self._lines[name]:
                info = self._lines[name].pop()
                why = self._check(info, queue) or self._hopeless.get(_kind(info))
                if why is None:
                    assignment, targets = self._assign(info, queue)
                    entries.append(Entry(info, queue, assignment, targets))
                    break
                self.outcome.refusals[info.record.uid] = Refusal(info, *why)
        return entries

    # ---- flavors

    def _assign(self, info: Info, queue: Queue) -> tuple[Assignment, list[PreemptibleWorkload]]:
        """Return flavors and whom to preempt for them: for all pods, or for as many as there may be."""
        whole = self._assign_counts(info, queue, None)
        if whole[0].mode is Mode.FIT or whole[1]:
            return whole
        spare = [pod_set.count - pod_set.least for pod_set in info.pod_sets]
        steps = sum(int(gap) for gap in spare)
        low, high, best = 1, steps, None
        while low <= high:  # the fewest pods to leave out
            middle = (low + high) // 2
            counts = [
                pod_set.count - gap * middle // steps
                for pod_set, gap in zip(info.pod_sets, spare, strict=True)
            ]
            found = self._assign_counts(info, queue, counts)
            if found[0].mode is Mode.FIT or found[1]:
                best, high = found, middle - 1
            else:
                low = middle + 1
        return whole if best is None else best

    def _assign_counts(
        self, info: Info, queue: Queue, counts: Sequence[int] | None
    ) -> tuple[Assignment, list[PreemptibleWorkload]]:
        assigner = Assigner(
            self._snapshot, queue, partial(self._try, queue), self._config.ignore_undeclared
        )
        assignment = assigner.assign(info, counts)
        if assignment.mode in (Mode.NO_FIT, Mode.FIT):
            return assignment, []
        need = Need(info, queue, assignment.usage, frozenset(assignment.contested))
        return assignment, find_targets(self._snapshot, need)

    def _try(self, queue: Queue, info: Info, key: FlavorResource, n: int) -> tuple[Mode, int]:
        return try_preemption(self._snapshot, Need(info, queue, {key: n}, frozenset({key})))

    # ---- one head

    def _process(self, entry: Entry, *, blocked: bool) -> None:
        info, queue, assignment = entry.info, entry.queue, entry.assignment
        if assignment.mode is Mode.NO_FIT:
            self._refuse(entry, assignment.reason, assignment.message)
        elif assignment.mode is not Mode.FIT and not entry.targets:
            self._refuse(entry, "WaitingForQuota", assignment.message)
            if queue.preemption.get("reclaimWithinCohort") != "Any":
                self._hold_place(entry)
        elif any(target.info.record.uid in self._victims for target in entry.targets):
            why = "Workload has overlapping preemption targets with another workload"
            self._refuse(entry, "WaitingForQuota", why, blocks=True)
        elif not self._fits(entry):
            self._lines[queue.name].append(info)  # things have changed in this round: look again
        elif entry.targets:
            self._preempt(entry)
        elif blocked:
            why = "waiting for all admitted workloads to be in PodsReady condition"
            self._refuse(entry, "WaitingForPodsReady", why, blocks=True)
        else:
            info.usage = dict(assignment.usage)
            queue.take(info)
            self.outcome.refusals.pop(info.record.uid, None)
            self.outcome.admissions.append(Admission(info, assignment))

    def _fits(self, entry: Entry) -> bool:
        """Say whether there is still room, after the others of this round and without the targets."""
        queues = self._snapshot.queues
        for target in entry.targets:
            queues[target.info.queue].release(target.info)
        fits = all(n <= entry.queue.available(key) for key, n in entry.assignment.usage.items())
        for target in entry.targets:
            queues[target.info.queue].take(target.info)
        return fits

    def _preempt(self, entry: Entry) -> None:
        """Have the targets give way; the queue waits for it, and what is asked for is spoken for."""
        for target in entry.targets:
            self._victims.add(target.info.record.uid)
            if not target.info.evicted:
                self.outcome.preemptions.append(
                    Preemption(target.info, entry.info, target.claim.reason)
                )
        count = len(entry.targets)
        message = f"{entry.assignment.message}. Pending the preemption of {count} workload(s)"
        self._refuse(entry, "WaitingForPreemptedWorkloads", message, blocks=True)
        for key, amount in entry.assignment.usage.items():
            entry.queue.use(key, amount)

    def _hold_place(self, entry: Entry) -> None:
        """Keep what is free from who comes after, as only a preemption that is not allowed would get it
        back: for this round, and in a strict queue for all of them.
        """
        queue, held = entry.queue, {}
        for key, asked in entry.assignment.usage.items():
            quota, used = queue.quotas[key], queue.usage.get(key, 0)
            if entry.assignment.borrowing == 0:
                held[key] = max(0, min(asked, quota.nominal - used))
            elif quota.borrowing is not None:
                held[key] = min(asked, quota.nominal + quota.borrowing - used)
            else:
                held[key] = asked
            queue.use(key, held[key])
        if not queue.strict:
            self._held.append((queue, held))

    def _refuse(self, entry: Entry, reason: str, message: str, *, blocks: bool = False) -> None:
        """Leave a Workload waiting; in a strict queue, or when it `blocks`, all behind it as well."""
        info = entry.info
        self.outcome.refusals[info.record.uid] = Refusal(info, reason, message)
        if blocks or entry.queue.strict:
            self._lines[entry.queue.name] = []
        elif info.shape and entry.queue.preemption.get("withinClusterQueue") != _BY_AGE:
            self._hopeless[_kind(info)] = (reason, message)


def _kind(info: Info) -> Kind:
    return info.queue, info.shape, info.priority
