"""ClusterQueues, Cohorts, flavors and who holds what, as of one moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from twin.kueue.amounts import amount_of
from twin.kueue.objects import is_true
from twin.kueue.tree import FlavorResource, Node, Quota
from twin.kueue.workload import Info
from twin.records import Object, ObjectRecord


@dataclass(frozen=True, slots=True)
class Group:
    """Resources that get one flavor together."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


class Queue(Node):
    """A ClusterQueue."""

    def __init__(self, record: ObjectRecord) -> None:
        """Read its spec."""
        spec = record.body.get("spec") or {}
        super().__init__(record.name, quotas_of(spec))
        self.record = record
        self.spec: Object = spec
        self.groups = [
            Group(tuple(row["coveredResources"]), tuple(each["name"] for each in row["flavors"]))
            for row in spec.get("resourceGroups") or ()
        ]
        self.preemption: Object = spec.get("preemption") or {}
        self.fungibility: Object = spec.get("flavorFungibility") or {}
        self.holders: dict[str, Info] = {}
        """Workloads that hold its quota, by uid."""
        self.inactive: tuple[str, str] | None = None
        """Reason and message of why it admits nothing."""

    @property
    def strict(self) -> bool:
        """Whether who does not fit blocks who comes after."""
        return bool(self.spec.get("queueingStrategy") == "StrictFIFO")

    @property
    def stop_policy(self) -> str:
        """None, Hold or HoldAndDrain."""
        return str(self.spec.get("stopPolicy") or "None")

    @property
    def borrow_policy(self) -> tuple[bool, int | None]:
        """Whether a borrower may preempt in the cohort, and up to which priority."""
        policy = self.preemption.get("borrowWithinCohort") or {}
        return policy.get("policy", "Never") != "Never", policy.get("maxPriorityThreshold")

    def group_of(self, resource: str) -> Group | None:
        """Return the group that covers a resource."""
        return next((group for group in self.groups if resource in group.resources), None)

    def flavor_names(self) -> set[str]:
        """Return all its flavors."""
        return {name for group in self.groups for name in group.flavors}

    def checks(self) -> dict[str, frozenset[str]]:
        """Return its admission checks with the flavors that they are for, by name."""
        strategy = self.spec.get("admissionChecksStrategy") or {}
        everything = frozenset(self.flavor_names())
        return {
            row["name"]: frozenset(row.get("onFlavors") or ()) or everything
            for row in strategy.get("admissionChecks") or ()
        }

    def checks_for(self, flavors: Iterable[str] | None) -> list[str]:
        """Return the checks of a Workload with these flavors; None: of any, whatever it gets."""
        found, everything = self.checks(), self.flavor_names()
        if flavors is None:
            return sorted(name for name, on in found.items() if on >= everything)
        used = set(flavors)
        return sorted(name for name, on in found.items() if on & used)

    def take(self, info: Info) -> None:
        """Let a Workload hold what it has."""
        self.holders[info.record.uid] = info
        for key, amount in info.usage.items():
            self.use(key, amount)

    def release(self, info: Info) -> None:
        """Take that back."""
        del self.holders[info.record.uid]
        for key, amount in info.usage.items():
            self.free(key, amount)

    def path(self) -> str:
        """Return its place in the tree of cohorts, such as `/all/team/queue`."""
        names = [self.name, *(node.name for node in self.ancestors())]
        return "/" + "/".join(reversed(names))


class QueueSnapshot:
    """What admission decides on."""

    def __init__(
        self,
        queues: Iterable[ObjectRecord],
        cohorts: Iterable[ObjectRecord],
        flavors: Mapping[str, Object],
        checks: Mapping[str, ObjectRecord],
    ) -> None:
        """Build the tree, nobody holding anything yet."""
        self.flavors = flavors
        self.queues = {record.name: Queue(record) for record in queues}
        self._cohorts: dict[str, Node] = {}
        for record in cohorts:
            spec = record.body.get("spec") or {}
            self._cohorts[record.name] = Node(record.name, quotas_of(spec))
        parents = {r.name: (r.body.get("spec") or {}).get("parentName", "") for r in cohorts}
        for name, parent in parents.items():
            self._join(self._cohorts[name], parent)
        for queue in self.queues.values():
            self._join(queue, queue.spec.get("cohortName", ""))
        looped = _looped(self._cohorts)
        for node in (*self._cohorts.values(), *self.queues.values()):
            if node.parent is None:
                node.measure()
        for queue in self.queues.values():
            queue.inactive = _why_inactive(queue, flavors, checks, looped)

    def _join(self, node: Node, parent: str) -> None:
        if parent:
            above = self._cohorts.get(parent)
            if above is None:  # a name alone is a cohort without quota of its own
                above = self._cohorts[parent] = Node(parent, {})
            node.parent = above
            above.children.append(node)

    def holders(self) -> Iterator[Info]:
        """Yield every Workload that holds quota."""
        for queue in self.queues.values():
            yield from queue.holders.values()


def quotas_of(spec: Mapping[str, Any]) -> dict[FlavorResource, Quota]:
    """Return the quotas of a ClusterQueue's or a Cohort's spec."""
    found = {}
    for group in spec.get("resourceGroups") or ():
        for flavor in group["flavors"]:
            for row in flavor["resources"]:
                name = row["name"]
                limits = [
                    None if row.get(field) is None else amount_of(name, row[field])
                    for field in ("borrowingLimit", "lendingLimit")
                ]
                nominal = amount_of(name, row["nominalQuota"])
                found[flavor["name"], name] = Quota(nominal, *limits)
    return found


def _looped(cohorts: Mapping[str, Node]) -> list[str]:
    """Return the cohorts whose ancestors lead back to themselves or to such a circle, cut off."""
    found: dict[str, None] = {}
    for name, node in cohorts.items():
        seen: dict[str, None] = {name: None}
        above = node.parent
        while above is not None and above.name not in seen and above.name not in found:
            seen[above.name] = None
            above = above.parent
        if above is not None:
            found |= seen
    for name, node in cohorts.items():
        if name in found:
            node.parent = None
            node.children = [child for child in node.children if child.name not in found]
    return list(found)


def _why_inactive(
    queue: Queue,
    flavors: Mapping[str, Object],
    checks: Mapping[str, ObjectRecord],
    looped: list[str],
) -> tuple[str, str] | None:
    if queue.record.deletion_at is not None:
        return "Terminating", "Can't admit new workloads; clusterQueue is terminating"
    missing = sorted(queue.flavor_names() - set(flavors))
    named = sorted(queue.checks())
    absent = [name for name in named if name not in checks]
    asleep = [name for name in named if name in checks and not is_true(checks[name], "Active")]
    causes = [
        ("Stopped", "is stopped", queue.stop_policy != "None"),
        ("FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(missing)}", missing),
        (
            "AdmissionCheckNotFound",
            f"references missing AdmissionCheck(s): {','.join(absent)}",
            absent,
        ),
        (
            "AdmissionCheckInactive",
            f"references inactive AdmissionCheck(s): {','.join(asleep)}",
            asleep,
        ),
        (
            "Unknown",
            "its cohorts form a circle",
            queue.parent is not None and queue.parent.name in looped,
        ),
    ]
    true = [(reason, text) for reason, text, holds in causes if holds]
    if not true:
        return None
    return true[0][0], f"Can't admit new workloads: {', '.join(text for _, text in true)}."
