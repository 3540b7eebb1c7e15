"""kube-scheduler: one pod at a time, by requests.

Filters: cordon, taints, selector and affinity, then free CPU, memory, GPUs and pod slots. Scores:
LeastAllocated and BalancedAllocation on a sample of the feasible nodes (50 % of 100 nodes, 10 % of
5,000, at least 5 % and 50), starting where the last pod's search ended. Ties are drawn.
Not modelled: spreading, pod affinity, image locality, preemption.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from twin.behaviour.node_table import Flags, Ints, NodeTable
from twin.behaviour.placement_rules import refusal
from twin.behaviour.scores import total_scores
from twin.behaviour.waiting import FLUSH_SECONDS, Waiter, WaitingPods
from twin.changes import Change
from twin.part import Part
from twin.records import NodeRecord, PodRecord, PodShape
from twin.world import World

_SHORTAGES = ("Insufficient cpu", "Insufficient memory", "Insufficient nvidia.com/gpu",
              "Too many pods")  # fmt: skip
_LATENCY_SECONDS = 0.01
_LEAST_NODES, _LEAST_PERCENT = 50, 5
_COMPONENT = "default-scheduler"
_RULES_KEPT = 4_096


def sample_size(nodes: int) -> int:
    """Return how many feasible nodes are enough to score (percentageOfNodesToScore's default)."""
    percent = max(_LEAST_PERCENT, 50 - nodes // 125)
    return min(nodes, max(_LEAST_NODES, nodes * percent // 100))


@dataclass(frozen=True, slots=True)
class Rules:
    """What the placement rules say by node row: empty reason allowed, None no such node."""

    generation: int
    allowed: Flags
    reasons: list[str | None]


class Scheduler(Part):
    """Binds waiting pods."""

    KEEPS = ("_start_row", "_planned", "_seen_generation")
    LEAVES = ("_known_rules",)

    def __init__(self, world: World, nodes: NodeTable) -> None:
        self._world = world
        self._nodes = nodes
        self.waiting = WaitingPods(world.config)
        self._random = world.streams.stream("scheduler")
        self._start_row = 0
        self._planned = False
        self._known_rules: dict[bytes, Rules] = {}  # by placement key; a cache of pure results
        self._seen_generation = 0
        world.clock.handle("scheduler.run", self._run)
        world.clock.handle("scheduler.retry", self._retry)
        world.clock.handle("scheduler.flush", self._flush)

    def follow(self, change: Change) -> None:
        """Take in one change, after the node table has seen it."""
        record = change.record
        if isinstance(record, NodeRecord):
            if self._seen_generation != self._nodes.generation:
                self._seen_generation = self._nodes.generation
                self._wake_fitting(None)
        elif isinstance(record, PodRecord):
            waits = not record.node_name and not record.terminal and change.type != "DELETED"
            if not waits:
                if record.uid in self.waiting:
                    self.waiting.drop(record.uid)
                elif record.terminal or change.type == "DELETED":
                    self._wake_fitting(record.node_name)
            elif record.uid not in self.waiting:
                self.waiting.add(record)
                self._plan()

    def _plan(self) -> None:
        if not self._planned:
            self._planned = True
            self._world.clock.after(_LATENCY_SECONDS, "scheduler.run")

    def _run(self) -> None:
        self._planned = False
        failed: dict[PodShape, str] = {}  # with its sentence: nothing is freed during one run
        while (waiter := self.waiting.pop()) is not None:
            pod = self._world.pods.get(waiter.uid)
            if pod is None:
                continue
            row = None if waiter.shape in failed else self._place(waiter.shape)
            if row is not None:
                self._bind(pod, row)
                continue
            if waiter.shape not in failed:
                failed[waiter.shape] = self._sentence(waiter.shape)
            self._refuse(pod, waiter, failed[waiter.shape])

    def _retry(self, uid: str) -> None:
        if self.waiting.activate(uid):
            self._plan()

    def _flush(self, uid: str, attempts: int) -> None:
        waiter = self.waiting.wake_one(uid)
        if waiter is None:
            return
        if waiter.attempts == attempts:
            self._retry(uid)
        else:
            self._world.clock.at(waiter.next_try_at, "scheduler.retry", uid)

    def _wake_fitting(self, node_name: str | None) -> None:
        """Wake as many parked pods as the changed node has room for (all of them without a name).

        kube-scheduler wakes all that would fit; those beyond the room would only back off again.
        """
        if not self.waiting.parked_shapes():
            return
        row = None if node_name is None else self._nodes.row_of.get(node_name)
        free = None if row is None else self._nodes.free[:, row].tolist()
        for shape in self.waiting.parked_shapes():
            room = len(self.waiting) if free is None else _room(free, shape)
            for waiter in self.waiting.wake(shape, room, self._world.now) if room else ():
                self._world.clock.at(waiter.next_try_at, "scheduler.retry", waiter.uid)

    def _place(self, shape: PodShape) -> int | None:
        nodes = self._nodes
        count = nodes.count
        if not count:
            return None
        fits = self._rules(shape).allowed & np.all(
            nodes.free[:, :count] >= _amounts(shape)[:, None], axis=0
        )
        order = np.flatnonzero(np.roll(fits, -self._start_row))
        if not len(order):
            return None
        enough = order[: sample_size(count)]
        start = self._start_row
        self._start_row = (start + int(enough[-1]) + 1) % count
        rows = (enough + start) % count
        scores = total_scores(nodes, rows, shape.cpu_request_millicores, shape.memory_request_bytes)
        best = rows[scores == scores.max()]
        return int(best[self._random.randrange(len(best))] if len(best) > 1 else best[0])

    def _rules(self, shape: PodShape) -> Rules:
        nodes = self._nodes
        known = self._known_rules.get(shape.placement_key)
        if known is not None and known.generation == nodes.generation:
            return known
        if known is None and len(self._known_rules) >= _RULES_KEPT:
            self._known_rules.clear()
        reasons = [self._refusal(row, shape) for row in range(nodes.count)]
        allowed = np.array([reason == "" for reason in reasons], np.bool_)
        rules = Rules(nodes.generation, allowed, reasons)
        self._known_rules[shape.placement_key] = rules
        return rules

    def _refusal(self, row: int, shape: PodShape) -> str | None:
        node = self._world.node(self._nodes.names[row])
        return None if node is None else refusal(node, shape)

    def _bind(self, pod: PodRecord, row: int) -> None:
        before = pod.clone()
        pod.node_name, pod.scheduled_at = self._nodes.names[row], self._world.now
        pod.unschedulable = ""
        self._world.store.touch("pods", pod, before)
        where = f"Successfully assigned {pod.namespace}/{pod.name} to {pod.node_name}"
        self._world.reporter.report(pod, "Pod", "Scheduled", where, _COMPONENT)

    def _refuse(self, pod: PodRecord, waiter: Waiter, sentence: str) -> None:
        world = self._world
        self.waiting.park(waiter, world.now)
        if pod.unschedulable != sentence:
            before = pod.clone()
            pod.unschedulable = sentence
            world.store.touch("pods", pod, before)
        world.reporter.report(pod, "Pod", "FailedScheduling", sentence, _COMPONENT)
        world.clock.after(FLUSH_SECONDS, "scheduler.flush", pod.uid, waiter.attempts)

    def _sentence(self, shape: PodShape) -> str:
        """Return the text of kube-scheduler's FitError."""
        nodes, rules = self._nodes, self._rules(shape)
        reasons = Counter(reason for reason in rules.reasons if reason)
        hopeless = reasons.total()
        total = hopeless + int(np.count_nonzero(rules.allowed))
        if not total:
            return "no nodes available to schedule pods"
        short = nodes.free[:, : nodes.count] < _amounts(shape)[:, None]
        lacking = np.count_nonzero(short & rules.allowed, axis=1).tolist()
        reasons.update(dict(zip(_SHORTAGES, lacking, strict=True)))
        listed = ", ".join(sorted(f"{count} {text}" for text, count in reasons.items() if count))
        return f"0/{total} nodes are available: {listed}. {_preemption(total, hopeless)}"


def _room(free: list[int], shape: PodShape) -> int:
    """Return how many pods of this shape fit into the free amounts."""
    amounts = (shape.cpu_request_millicores, shape.memory_request_bytes, shape.gpus, 1)
    return max(0, min(left // need for left, need in zip(free, amounts, strict=True) if need))


def _amounts(shape: PodShape) -> Ints:
    return np.array(
        (shape.cpu_request_millicores, shape.memory_request_bytes, shape.gpus, 1), np.int64
    )


def _preemption(total: int, hopeless: int) -> str:
    parts = []
    if total - hopeless:
        parts.append(f"{total - hopeless} No preemption victims found for incoming pod")
    if hopeless:
        parts.append(f"{hopeless} Preemption is not helpful for scheduling")
    return f"preemption: 0/{total} nodes are available: {', '.join(parts)}."
