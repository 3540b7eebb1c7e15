"""Which flavor each resource of a Workload gets, and by which means: free quota, borrowing or preemption.

Source: concepts/cluster_queue.md ("Flavors and borrowing semantics", "FlavorFungibility"),
concepts/resource_flavor.md. Pure but for the preemptions that are tried out on the snapshot and taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from twin.kueue.amounts import PODS, Amounts, amount_text
from twin.kueue.node_terms import matches_flavor, untolerated_taint
from twin.kueue.snapshot import Group, Queue, QueueSnapshot
from twin.kueue.tree import FlavorResource
from twin.kueue.workload import Info, PodSet

NO_MATCH, TOO_MUCH, WAITING = "NoMatchingFlavor", "ExceedsMaxQuota", "WaitingForQuota"
_SEVERITY = {"": 0, WAITING: 1, TOO_MUCH: 2, NO_MATCH: 3}


class Mode(IntEnum):
    """How a request gets into a flavor, the best last."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    """By preemption, were there anybody to preempt."""
    PREEMPT = 2
    RECLAIM = 3
    """By preemption in other queues alone."""
    FIT = 4


Trial = Callable[[Info, FlavorResource, int], tuple[Mode, int]]
"""Tries a preemption for so much of a flavor's resource: its mode, and how high one borrows then."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A flavor for one resource."""

    flavor: str
    mode: Mode
    borrowing: int
    """How high in the tree of cohorts quota is borrowed; 0: it is not."""


@dataclass(slots=True)
class PodSetChoice:
    """The flavors of one pod set."""

    pod_set: PodSet
    count: int
    requests: Amounts
    """Of all its pods."""
    flavors: dict[str, Choice] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    failed: bool = False
    reason: str = ""
    """Of the failure."""


@dataclass(slots=True)
class Assignment:
    """The flavors of a Workload."""

    pod_sets: list[PodSetChoice]
    usage: dict[FlavorResource, int]

    @property
    def mode(self) -> Mode:
        """The worst of its resources."""
        if any(row.failed for row in self.pod_sets):
            return Mode.NO_FIT
        choices = [choice.mode for row in self.pod_sets for choice in row.flavors.values()]
        return min(choices, default=Mode.FIT)

    @property
    def borrowing(self) -> int:
        """How high in the tree of cohorts quota is borrowed."""
        return max((c.borrowing for row in self.pod_sets for c in row.flavors.values()), default=0)

    @property
    def contested(self) -> set[FlavorResource]:
        """What preemption has to free."""
        return {
            (choice.flavor, resource)
            for row in self.pod_sets
            for resource, choice in row.flavors.items()
            if choice.mode is not Mode.FIT
        }

    @property
    def message(self) -> str:
        """Why it is not simply admitted."""
        return "; ".join(
            f"couldn't assign flavors to pod set {row.pod_set.name}: {', '.join(sorted(row.sentences))}"
            for row in self.pod_sets
            if row.sentences
        )

    @property
    def reason(self) -> str:
        """The reason of the condition QuotaReserved while it waits."""
        found = max((row.reason for row in self.pod_sets), key=_SEVERITY.__getitem__, default="")
        return found or WAITING


@dataclass(frozen=True, slots=True)
class Assigner:
    """Assigns flavors of one ClusterQueue."""

    snapshot: QueueSnapshot
    queue: Queue
    trial: Trial
    ignore_undeclared: bool

    def assign(self, info: Info, counts: Sequence[int] | None = None) -> Assignment:
        """Return flavors for a Workload with these numbers of pods, by default all of them."""
        usage: dict[FlavorResource, int] = {}
        rows: list[PodSetChoice] = []
        for place, pod_set in enumerate(info.pod_sets):
            count = pod_set.count if counts is None else counts[place]
            requests = {name: amount * count for name, amount in pod_set.each.items()}
            if self.queue.group_of(PODS) is not None:
                requests[PODS] = count
            row = PodSetChoice(pod_set, count, requests)
            rows.append(row)
            self._fill(info, row, usage)
            if row.failed:
                break
            for resource, choice in row.flavors.items():
                key = (choice.flavor, resource)
                usage[key] = usage.get(key, 0) + requests[resource]
        return Assignment(rows, usage)

    def _fill(self, info: Info, row: PodSetChoice, usage: Mapping[FlavorResource, int]) -> None:
        for resource in sorted(row.requests):
            if resource in row.flavors:
                continue
            group = self.queue.group_of(resource)
            if group is None:
                if row.requests[resource] == 0 or self.ignore_undeclared:
                    continue
                row.sentences = [f"resource {resource} unavailable in ClusterQueue"]
                row.failed, row.reason, row.flavors = True, NO_MATCH, {}
                return
            requests = {name: n for name, n in row.requests.items() if name in group.resources}
            found = self._search(info, row, group, requests, usage)
            if not found:
                row.failed, row.flavors = True, {}
                return
            row.flavors |= found

    def _search(
        self,
        info: Info,
        row: PodSetChoice,
        group: Group,
        requests: Amounts,
        usage: Mapping[FlavorResource, int],
    ) -> dict[str, Choice]:
        """Return the best flavor of a group for all requests on it; empty when none will do."""
        best: dict[str, Choice] = {}
        best_mode = (Mode.NO_FIT, 0)
        sentences: list[str] = []
        mildest = ""
        for flavor in group.flavors:
            refusal = self._refusal(flavor, row.pod_set)
            if refusal:
                sentences.append(refusal)
                mildest = _milder(mildest, NO_MATCH)
                continue
            choices, mode, why = self._try(info, flavor, requests, usage, sentences)
            if mode[0] is Mode.NO_FIT:
                mildest = _milder(mildest, why)
            if not self._looks_on(mode):
                best, best_mode = choices, mode
                break
            if self._prefers(mode, best_mode):
                best, best_mode = choices, mode
        if best_mode[0] is Mode.FIT:
            return best
        row.sentences += sentences
        row.reason = max(row.reason, mildest, key=_SEVERITY.__getitem__)
        return best

    def _refusal(self, flavor: str, pod_set: PodSet) -> str:
        """Say why a flavor is not for these pods; empty when it is."""
        spec = self.snapshot.flavors.get(flavor)
        if spec is None:
            return f"flavor {flavor} not found"
        taint = untolerated_taint(spec, pod_set.spec)
        if taint:
            return f"untolerated taint {taint} in flavor {flavor}"
        if not matches_flavor(pod_set.spec, spec.get("nodeLabels") or {}):
            return f"flavor {flavor} doesn't match node affinity"
        return ""

    def _try(
        self,
        info: Info,
        flavor: str,
        requests: Amounts,
        usage: Mapping[FlavorResource, int],
        sentences: list[str],
    ) -> tuple[dict[str, Choice], tuple[Mode, int], str]:
        """Return the choices of one flavor, the worst of their modes, and why it does not fit."""
        worst, why = (Mode.FIT, 0), ""
        choices: dict[str, Choice] = {}
        for resource in sorted(requests):
            key = (flavor, resource)
            mode, borrowing, sentence, cause = self._fit(
                info, key, usage.get(key, 0), requests[resource]
            )
            if sentence:
                sentences.append(sentence)
                why = max(why, cause, key=_SEVERITY.__getitem__)
            if self._prefers(worst, (mode, borrowing)):
                worst = (mode, borrowing)
            if mode is Mode.NO_FIT:
                return {}, (Mode.NO_FIT, 0), why
            choices[resource] = Choice(flavor, mode, borrowing)
        return choices, worst, why

    def _fit(
        self, info: Info, key: FlavorResource, before: int, request: int
    ) -> tuple[Mode, int, str, str]:
        """Return mode, borrowing, sentence and cause of one request beside earlier pod sets'."""
        queue, amount = self.queue, before + request
        flavor, resource = key
        capacity, available = queue.capacity(key), queue.available(key)
        if amount > capacity:
            shown = [amount_text(resource, n) for n in (before, request, capacity)]
            sentence = (
                f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets "
                f"requests ({shown[0]}) + current podset request ({shown[1]}) > maximum capacity ({shown[2]})"
            )
            return Mode.NO_FIT, 0, sentence, TOO_MUCH
        borrowing, reclaims = queue.lowest_fit(key, amount)
        if amount <= available:
            return Mode.FIT, borrowing, "", ""
        short = amount_text(resource, amount - available)
        sentence = (
            f"insufficient unused quota for {resource} in flavor {flavor}, {short} more needed"
        )
        quota = queue.quotas.get(key)
        nominal = 0 if quota is None else quota.nominal
        if amount <= nominal or reclaims or queue.borrow_policy[0]:
            mode, borrowing = self.trial(info, key, amount)
            return mode, borrowing, sentence, ""
        return Mode.NO_FIT, borrowing, sentence, WAITING

    def _looks_on(self, mode: tuple[Mode, int]) -> bool:
        """Say whether the next flavor is tried."""
        rules = self.queue.fungibility
        if mode[0] in (Mode.NO_FIT, Mode.NO_CANDIDATES):
            return True
        if (
            mode[0] is not Mode.FIT
            and rules.get("whenCanPreempt", "TryNextFlavor") == "TryNextFlavor"
        ):
            return True
        return mode[1] > 0 and rules.get("whenCanBorrow") == "TryNextFlavor"

    def _prefers(self, one: tuple[Mode, int], other: tuple[Mode, int]) -> bool:
        """Say whether one mode, with how high it borrows, is better than another."""
        if Mode.NO_FIT in (one[0], other[0]):
            return one[0] is not Mode.NO_FIT and other[0] is Mode.NO_FIT
        idle = one[0] is Mode.NO_CANDIDATES, other[0] is Mode.NO_CANDIDATES
        if idle[0] != idle[1]:
            return not idle[0]
        if self.queue.fungibility.get("preference") == "PreemptionOverBorrowing":
            return (-one[1], one[0]) > (-other[1], other[0])
        return (one[0], -one[1]) > (other[0], -other[1])


def _milder(one: str, other: str) -> str:
    """Return the milder of two reasons, of which the first may not be known yet."""
    return other if not one else min(one, other, key=_SEVERITY.__getitem__)
