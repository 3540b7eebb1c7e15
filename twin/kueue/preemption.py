"""Whom a Workload preempts: candidates by the policies of its queue, and of these as few as will do.

Source: concepts/preemption.md ("Classic Preemption"). Candidates are taken out of the snapshot while it is worked
out, and all of them are back when a function returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from twin.kueue.flavors import Mode
from twin.kueue.snapshot import Queue, QueueSnapshot
from twin.kueue.tree import FlavorResource, Node
from twin.kueue.workload import Info


class Claim(Enum):
    """By what right a candidate may be preempted: the reason of its condition Preempted."""

    OWN = "InClusterQueue"
    NEARER = "InCohortReclamation "
    """The queue, or a subtree of cohorts around it, has quota for the request that the other lacks."""
    RECLAIM = "InCohortReclamation"
    """As long as the queue does not borrow itself."""
    BORROW = "InCohortReclaimWhileBorrowing"

    @property
    def reason(self) -> str:
        """The reason of the condition."""
        return self.value.strip()


BECAUSE = {
    "InClusterQueue": "prioritization in the ClusterQueue",
    "InCohortReclamation": "reclamation within the cohort",
    "InCohortReclaimWhileBorrowing": "reclamation within the cohort while borrowing",
}
"""What a message says of a reason."""


@dataclass(frozen=True, slots=True)
class PreemptibleWorkload:
    """A Workload that may be preempted."""

    info: Info
    claim: Claim
    subtree: Node | None
    """The cohort under which both queues are; None for the preemptor's own queue."""


@dataclass(frozen=True, slots=True)
class Need:
    """What is to be made room for."""

    info: Info
    queue: Queue
    requests: Mapping[FlavorResource, int]
    contested: frozenset[FlavorResource]
    """Those of the requests that there is no room for."""


def find_targets(snapshot: QueueSnapshot, need: Need) -> list[PreemptibleWorkload]:
    """Return whom to preempt; nobody when that would not help."""
    candidates, alone, reclaiming = _candidates(need)
    may_borrow, _ = need.queue.borrow_policy
    if alone or (not may_borrow and not _under_nominal(need)):
        attempts = [True]
    elif not may_borrow and not reclaiming:
        attempts = [False, True]
    else:
        attempts = [True, False]
    for borrowing in attempts:
        targets = _greedy(snapshot, need, candidates, borrowing=borrowing)
        if targets:
            return targets
    return []


def try_preemption(snapshot: QueueSnapshot, need: Need) -> tuple[Mode, int]:
    """Say by which kind of preemption one request would fit, and how high it borrows then."""
    targets = find_targets(snapshot, need)
    ((key, amount),) = need.requests.items()
    if not targets:
        return Mode.NO_CANDIDATES, need.queue.lowest_fit(key, amount)[0]
    for target in targets:
        snapshot.queues[target.info.queue].release(target.info)
    height = need.queue.lowest_fit(key, amount)[0]
    for target in targets:
        snapshot.queues[target.info.queue].take(target.info)
    own = any(target.claim is Claim.OWN for target in targets)
    return (Mode.PREEMPT if own else Mode.RECLAIM), height


def _greedy(
    snapshot: QueueSnapshot, need: Need, candidates: list[PreemptibleWorkload], *, borrowing: bool
) -> list[PreemptibleWorkload]:
    """Take candidates in their order until the need fits, then give back who was not needed."""
    targets: list[PreemptibleWorkload] = []
    fits = False
    for candidate in candidates:
        home = snapshot.queues[candidate.info.queue]
        if not _still_valid(candidate, home, need, borrowing=borrowing):
            continue
        home.release(candidate.info)
        targets.append(candidate)
        if _fits(need, borrowing=borrowing):
            fits = True
            break
    if fits:
        for candidate in targets[-2::-1]:
            home = snapshot.queues[candidate.info.queue]
            home.take(candidate.info)
            if _fits(need, borrowing=borrowing):
                targets.remove(candidate)
            else:
                home.release(candidate.info)
    for candidate in targets:
        snapshot.queues[candidate.info.queue].take(candidate.info)
    return targets if fits else []


def _fits(need: Need, *, borrowing: bool) -> bool:
    queue = need.queue
    for key, amount in need.requests.items():
        if (not borrowing and queue.borrows_with(key, amount)) or amount > queue.available(key):
            return False
    return True


def _still_valid(
    candidate: PreemptibleWorkload, home: Queue, need: Need, *, borrowing: bool
) -> bool:
    """Say whether a candidate's queue still borrows what is contested, now that others are out."""
    if candidate.subtree is None:
        return True
    if borrowing and candidate.claim is Claim.RECLAIM:
        return False
    for node in (home, *home.ancestors()):
        if node is candidate.subtree:
            break
        if node.within_quota(need.contested):
            return False
    return True


def _under_nominal(need: Need) -> bool:
    queue = need.queue
    return all(
        queue.usage.get(key, 0) < (queue.quotas[key].nominal if key in queue.quotas else 0)
        for key in need.contested
    )


# ---- candidates


def _candidates(need: Need) -> tuple[list[PreemptibleWorkload], bool, bool]:
    """Return the candidates in order, whether all are of the own queue, and whether any is under a
    nearer claim.
    """
    own = _of_queue(need, need.queue, None, nearer=False)
    nearer: list[PreemptibleWorkload] = []
    others: list[PreemptibleWorkload] = []
    if need.queue.preemption.get("reclaimWithinCohort", "Never") != "Never":
        claims, rest = need.queue.exceeding(need.requests)
        last: Node = need.queue
        for subtree in need.queue.ancestors():
            found = list(_below(need, subtree, subtree, last, nearer=claims))
            (nearer if claims else others).extend(found)
            fits, rest = subtree.exceeding(rest)
            claims, last = claims or fits, subtree
    parts = [sorted(part, key=lambda c: _order(need, c)) for part in (nearer, others, own)]
    ordered = [c for evicted in (True, False) for part in parts for c in part
               if c.info.evicted is evicted]  # fmt: skip
    return ordered, not nearer and not others, bool(nearer)


def _below(
    need: Need, node: Node, subtree: Node, seen: Node, *, nearer: bool
) -> Iterator[PreemptibleWorkload]:
    """Yield candidates of the borrowing queues below a node, but for the subtree already seen."""
    for child in node.children:
        if child is seen or child is need.queue or child.within_quota(need.contested):
            continue
        if isinstance(child, Queue):
            yield from _of_queue(need, child, subtree, nearer=nearer)
        else:
            yield from _below(need, child, subtree, seen, nearer=nearer)


def _of_queue(
    need: Need, queue: Queue, subtree: Node | None, *, nearer: bool
) -> list[PreemptibleWorkload]:
    found = []
    for info in queue.holders.values():
        claim = _claim(need, info, own=subtree is None, nearer=nearer)
        if claim is not None and any(key in need.contested for key in info.usage):
            found.append(PreemptibleWorkload(info, claim, subtree))
    return found


def _claim(need: Need, info: Info, *, own: bool, nearer: bool) -> Claim | None:
    """Return by what right a Workload may be preempted; None: it may not."""
    policies, priority = need.queue.preemption, need.info.priority
    policy = policies.get("withinClusterQueue" if own else "reclaimWithinCohort", "Never")
    lower = info.priority < priority
    newer = info.priority == priority and need.info.since < info.since
    allowed = {
        "LowerPriority": lower,
        "LowerOrNewerEqualPriority": lower or newer,
        "Any": True,
    }.get(policy, False)
    if not allowed:
        return None
    if own:
        return Claim.OWN
    if nearer:
        return Claim.NEARER
    may_borrow, most = need.queue.borrow_policy
    if may_borrow and lower and (most is None or info.priority <= most):
        return Claim.BORROW
    return Claim.RECLAIM


def _order(need: Need, candidate: PreemptibleWorkload) -> tuple[bool, int, float, str]:
    """Other queues' first, then lower priority, then who got quota last."""
    info = candidate.info
    own = info.queue == need.queue.name
    return (own, info.priority, -info.reserved_at, info.record.uid)
