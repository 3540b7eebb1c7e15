"""kube-scheduler: takes waiting pods one at a time, binds each to its best node, or says why not.

Plugins and their order, weights, sampling, back-off and preemption are kube-scheduler's (v1.36),
each in a file of `twin/scheduling`; `SchedulerConfig` switches them. Ties are
drawn: a pod likes nodes in an order of its own, so another node's coming or going leaves it alone. A pod for
which room is made keeps its nominated node; pods of equal or lower priority leave that room free.
"""

from __future__ import annotations

import numpy as np

from twin.changes import Change
from twin.needs import BASIC_RESOURCES
from twin.part import Part
from twin.records import NodeRecord, PodRecord, PodShape
from twin.scheduling.binding import assign_node
from twin.scheduling.cycle import NODE_RULES, Cycle, Diagnosis, Reserved
from twin.scheduling.default_preemption import PREEMPTED, Preemption, PreemptionCandidate
from twin.scheduling.group_amounts import Group
from twin.scheduling.hints import RELATIONS, Hints
from twin.scheduling.node_table import Flags, NodeTable
from twin.scheduling.placement_rules import CONFLICT, names_conflict
from twin.scheduling.plugins import Plugins
from twin.scheduling.sampling import sample_size
from twin.scheduling.sentences import NO_CLAIMS, NO_NODES, early_error, fit_error, note
from twin.scheduling.volume_binding import PLUGIN as VOLUME_BINDING
from twin.scheduling.waiting import Waiter, WaitingPods
from twin.volumes.binding import CLAIMS, STORAGE
from twin.volumes.rules import claim_names
from twin.world import World

_COMPONENT = DEFAULT_SCHEDULER = "default-scheduler"
_TICK_SECONDS = 1e-6  # the clock's


class Scheduler(Part):
    """Binds waiting pods."""

    KEEPS = ("_start", "_planned", "_calls_left", "_counted_at", "_nominated")

    def __init__(self, world: World, nodes: NodeTable) -> None:
        self.config = world.config.scheduler
        self._world = world
        self._nodes = nodes
        self._ties = world.chance.draws("scheduler ties")
        self.plugins = Plugins(world, nodes, self.config)
        self.waiting = WaitingPods(self.config)
        self._hints = Hints(self.plugins, nodes)
        self._preemption = Preemption(world, nodes, self.config)
        self._start = 0  # where the next search begins, round robin
        self._planned = False
        self._calls_left = float(self.config.bind_burst)
        self._counted_at = world.now
        self._nominated: dict[str, str] = {}  # node name by uid of the pod that waits for it
        world.clock.handle("scheduler.run", self._run)
        world.clock.handle("scheduler.retry", self._retry)
        world.clock.handle("scheduler.flush", self._flush)

    # ---- what it hears

    def follow(self, change: Change) -> None:
        """Take in one change, after the node table has seen it."""
        self.plugins.follow(change)
        if not self.config.enabled:
            return
        record = change.record
        if isinstance(record, NodeRecord):
            if self._nodes.altered and len(self.waiting):
                self._wake_for_node(self._nodes.row_of[record.name])
        elif isinstance(record, PodRecord):
            self._follow_pod(record, change)
        elif change.resource in STORAGE and len(self.waiting):
            self._wake_for_storage(change)

    def _follow_pod(self, pod: PodRecord, change: Change) -> None:
        gone = change.type == "DELETED"
        if not (pod.node_name or pod.terminal or gone):
            gated = bool(pod.shape.needs.gates) or not _is_ours(pod)
            if not gated and self.waiting.shape_of(pod.uid) is not pod.shape:
                self.waiting.add(pod, self._world.now)
                self._plan(self.config.latency_seconds)
            return
        if pod.uid in self.waiting:
            self.waiting.drop(pod.uid)
            self._nominated.pop(pod.uid, None)
        if not len(self.waiting):
            return
        if pod.node_name and _left_room(pod, change):
            self._wake_for_removal(pod)
        elif pod.node_name and not gone and _came_or_changed_labels(pod, change):
            self._wake_for_arrival(pod)

    def _wake_for_node(self, row: int) -> None:
        whole = self._nodes.offered[: len(BASIC_RESOURCES), row]
        removed = "removed" in self._nodes.altered
        groups = self.waiting
        for group in groups.parked_groups() if removed else groups.fitting_groups(whole):
            shape, plugins, _ = group
            if self._hints.node_helps(row, shape, frozenset(plugins.split(","))):
                self._wake(group, len(self.waiting))

    def _wake_for_removal(self, gone: PodRecord) -> None:
        """Wake as many parked pods as the node has room for now.

        kube-scheduler wakes all that could fit; those beyond the room would only back off again.
        """
        row = self._nodes.row_of.get(gone.node_name)
        for uid, name in list(self._nominated.items()):
            if name == gone.node_name:
                self._wake_soon(self.waiting.wake_one(uid))
        for group in self.waiting.particular_groups():
            waiting = self._world.pods.get(group[2])
            plugins = frozenset(group[1].split(","))
            if waiting is not None and self._hints.removal_helps(waiting, gone, plugins):
                self._wake(group, 1)
        if row is None:
            return
        free = self._nodes.free[: len(BASIC_RESOURCES), row]
        for group in self.waiting.fitting_groups(free, lacking=True):
            self._wake(group, self._hints.room(row, group[0]))

    def _wake_for_arrival(self, new: PodRecord) -> None:
        for group in self.waiting.particular_groups():
            waiting = self._world.pods.get(group[2])
            plugins = frozenset(group[1].split(","))
            if waiting is not None and self._hints.arrival_helps(waiting, new, plugins):
                self._wake(group, 1)

    def _wake_for_storage(self, change: Change) -> None:
        """Wake the pods that wait for their volumes, by a claim only those that use it."""
        for group in self.waiting.particular_groups():
            pod = self._world.pods.get(group[2])
            if pod is None or VOLUME_BINDING not in group[1].split(","):
                continue
            record = change.record
            if change.resource != CLAIMS or (
                record.namespace == pod.namespace
                and record.name in claim_names(pod.name, pod.shape.spec)
            ):
                self._wake(group, 1)

    def _wake(self, group: Group, most: int) -> None:
        for waiter in self.waiting.wake(group, most, self._world.now) if most else ():
            self._wake_soon(waiter)

    def _wake_soon(self, waiter: Waiter | None) -> None:
        if waiter is not None:
            self._world.clock.at(waiter.next_try_at, "scheduler.retry", waiter.uid)

    # ---- its turns

    def _plan(self, delay: float) -> None:
        if not self._planned:
            self._planned = True
            self._world.clock.after(delay, "scheduler.run")

    def _retry(self, uid: str) -> None:
        if self.waiting.activate(uid):
            self._plan(self.config.latency_seconds)

    def _flush(self, uid: str, attempts: int) -> None:
        waiter = self.waiting.wake_one(uid)
        if waiter is None:
            return
        if waiter.attempts == attempts:
            self._retry(uid)
        else:
            self._wake_soon(waiter)

    def _run(self) -> None:
        self._planned = False
        failed: dict[PodShape, tuple[str, tuple[str, ...]]] = {}  # nothing is freed in one run
        while (waiter := self.waiting.peek()) is not None:
            wait = self._calls_wait()
            if wait > 0.0:
                self._plan(wait)
                return
            self.waiting.pop()
            pod = self._world.pods.get(waiter.uid)
            if pod is None or pod.deletion_at is not None:
                continue
            known = failed.get(waiter.shape)
            if known is not None:
                self._refuse(pod, waiter, known[0], known[1])
            elif not self._try(pod, waiter, failed):
                failed.clear()  # somebody was displaced

    def _try(
        self,
        pod: PodRecord,
        waiter: Waiter,
        failed: dict[PodShape, tuple[str, tuple[str, ...]]],
    ) -> bool:
        """Bind the pod, or park it; False when pods were displaced for it."""
        if self._nodes.existing:
            plugin, problem = self._early_problem(pod)
            if problem:
                sentence = early_error(self._nodes.existing, problem)
                self._refuse(pod, waiter, sentence, (plugin,))
                return True
        cycle = Cycle(self.plugins, pod, self._reserved_pods(pod))
        mask = cycle.feasible()
        row = self._choose(pod, mask)
        if row is not None:
            if self.plugins.volumes.bind(pod, self._nodes.names[row]):
                self._bind(pod, row)
            else:
                self.waiting.park(waiter, (VOLUME_BINDING,), pod.uid, self._world.now)
            return True
        if not self._nodes.existing:
            self._refuse(pod, waiter, NO_NODES, ())
            return True
        diagnosis = cycle.diagnose()
        sentence = fit_error(diagnosis.nodes, diagnosis.reasons)
        if not self.config.preemption:
            self._refuse(pod, waiter, sentence, diagnosis.plugins)
        else:
            outcome = self._preemption.find(cycle, diagnosis)
            if outcome.candidate is not None:
                self._displace(pod, outcome.candidate)
                self._refuse(pod, waiter, sentence, diagnosis.plugins)
                return False
            if pod.nominated_node and not outcome.keeps_nomination:
                self._nominate(pod, "")
            sentence = f"{sentence} {NO_CLAIMS}, {outcome.sentence}"
            self._refuse(pod, waiter, sentence, diagnosis.plugins)
        if self._repeats(cycle, diagnosis):
            failed[waiter.shape] = (sentence, diagnosis.plugins)
        return True

    def _early_problem(self, pod: PodRecord) -> tuple[str, str]:
        """Return what keeps a pod from every node before one is looked at, and the plugin that says so."""
        if "NodeAffinity" in self.plugins.filters and names_conflict(pod.shape.node_affinity):
            return NODE_RULES, CONFLICT
        volumes = pod.shape.spec.get("volumes")
        return VOLUME_BINDING, self.plugins.volumes.problem(pod) if volumes else ""

    def _repeats(self, cycle: Cycle, diagnosis: Diagnosis) -> bool:
        """True when any pod of that shape would fail alike in this run."""
        pod = cycle.pod
        displaces = self._preemption.possible(pod) and bool(diagnosis.helpable.any())
        return cycle.only_amounts and not pod.nominated_node and not displaces

    def place(self, pod: PodRecord) -> int | None:
        """Return the row of the node that a pod would get now, binding nothing; None: no room."""
        return self._choose(pod, Cycle(self.plugins, pod, self._reserved_pods(pod)).feasible())

    def _choose(self, pod: PodRecord, mask: Flags) -> int | None:
        """Return the row of the best of enough feasible nodes."""
        promised = self._nodes.row_of.get(pod.nominated_node) if pod.nominated_node else None
        if promised is not None and mask[promised]:
            return promised
        order = self.plugins.topology.order()
        found = (mask if order is None else mask[order]).nonzero()[0]
        if not len(found):
            return None
        positions = len(mask) if order is None else len(order)
        enough = sample_size(self._nodes.existing, self.config.percentage_of_nodes_to_score)
        first = int(np.searchsorted(found, self._start))
        sample = np.concatenate((found[first:], found[:first])) if first else found
        if len(sample) >= enough:
            sample = sample[:enough]
            self._start = (int(sample[-1]) + 1) % positions
        rows = sample if order is None else np.sort(order[sample])
        if len(rows) == 1:
            return int(rows[0])
        scores = self.plugins.scores(pod, rows)
        best = rows[scores == scores.max()]
        if len(best) == 1:
            return int(best[0])
        return int(best[self._nodes.first_drawn(self._ties, pod.uid, best)])

    def _reserved_pods(self, pod: PodRecord) -> Reserved:
        """Return the pods of no lower priority for which room is being made, with their rows."""
        if not self._nominated:
            return ()
        found = []
        for uid, name in self._nominated.items():
            other, row = self._world.pods.get(uid), self._nodes.row_of.get(name)
            if other is None or row is None or uid == pod.uid:
                continue
            if other.shape.priority >= pod.shape.priority:
                found.append((row, other))
        return found

    # ---- what it does

    def _calls_wait(self) -> float:
        """Return the seconds until the client's rate limit lets one more binding through."""
        rate = self.config.binds_per_second
        if not rate:
            return 0.0
        now = self._world.now
        gained = (now - self._counted_at) * rate
        self._calls_left = min(float(self.config.bind_burst), self._calls_left + gained)
        self._counted_at = now
        missing = 1.0 - self._calls_left
        return max(_TICK_SECONDS, missing / rate) if missing > 1e-9 else 0.0

    def _bind(self, pod: PodRecord, row: int) -> None:
        self._calls_left -= 1.0
        assign_node(self._world, pod, self._nodes.names[row])
        where = f"Successfully assigned {pod.namespace}/{pod.name} to {pod.node_name}"
        self._world.reporter.report(pod, "Pod", "Scheduled", where, _COMPONENT)

    def _refuse(
        self, pod: PodRecord, waiter: Waiter, sentence: str, plugins: tuple[str, ...]
    ) -> None:
        world = self._world
        own = pod.uid if RELATIONS.intersection(plugins) or pod.nominated_node else ""
        self.waiting.park(waiter, plugins, own, world.now)
        if pod.unschedulable != sentence:
            before = pod.clone()
            pod.unschedulable = sentence
            world.store.touch("pods", pod, before)
        world.reporter.report(pod, "Pod", "FailedScheduling", note(sentence), _COMPONENT)
        if not plugins:  # no node at all: an error to kube-scheduler, so tried again by itself
            self._wake_soon(self.waiting.wake_one(pod.uid))
        world.clock.after(self.config.flush_seconds, "scheduler.flush", pod.uid, waiter.attempts)

    def _displace(self, pod: PodRecord, candidate: PreemptionCandidate) -> None:
        """Delete the victims gracefully and promise their node to the pod."""
        world, name = self._world, self._nodes.names[candidate.row]
        for uid, where in list(self._nominated.items()):
            other = world.pods.get(uid)
            if where == name and other is not None and other.shape.priority < pod.shape.priority:
                self._nominate(other, "")
                self._wake_soon(self.waiting.wake_one(uid))
        self._nominate(pod, name)
        for victim in candidate.victims:
            if victim.deletion_at is not None:
                continue
            before = victim.clone()
            victim.disruption = PREEMPTED
            world.store.touch("pods", victim, before)
            text = f"Preempted by pod {pod.uid} on node {name}"
            world.reporter.report(victim, "Pod", "Preempted", text, _COMPONENT)
            world.store.delete("pods", victim.namespace, victim.name)

    def _nominate(self, pod: PodRecord, name: str) -> None:
        before = pod.clone()
        pod.nominated_node = name
        if name:
            self._nominated[pod.uid] = name
        else:
            self._nominated.pop(pod.uid, None)
        self._world.store.touch("pods", pod, before)


def _is_ours(pod: PodRecord) -> bool:
    """Say whether a pod waits for this scheduler; those for another one are left alone."""
    return bool(pod.shape.spec.get("schedulerName", DEFAULT_SCHEDULER) == DEFAULT_SCHEDULER)


def _left_room(pod: PodRecord, change: Change) -> bool:
    """True when a bound pod has just ended, gone, or changed what it holds."""
    if change.type == "DELETED":
        return not pod.terminal  # an ended one left its room long ago
    before = change.before
    if not isinstance(before, PodRecord) or before.terminal:
        return False
    return pod.terminal or before.reserved_needs is not pod.reserved_needs


def _came_or_changed_labels(pod: PodRecord, change: Change) -> bool:
    unbound_before = change.previous_fields is None or not change.previous_fields[0]
    return unbound_before or change.previous_labels != pod.labels
