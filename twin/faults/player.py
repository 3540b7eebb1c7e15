"""Plays scenarios: each fault begins and ends as an event of the engine.

What a fault does to requests is not done here but in front of the API (`api_faults.py`), which asks
which faults of that kind are running.

Guarantee: the same cluster, given the same scenarios at the same cluster times, goes wrong in the
same way, in a clone, after a checkpoint and after a re-run of the journal.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from inputs.errors import InputError
from twin.arrivals import Arrivals
from twin.chance import key_of
from twin.errors import ApiError
from twin.faults.effects import FaultTargets
from twin.faults.reading import scenario_of
from twin.faults.scenario import (
    Autoscaler,
    Burst,
    Fault,
    Nodes,
    Scenario,
    UserWrite,
    WatchCut,
    WatchExpiry,
)
from twin.faults.targets import targets
from twin.faults.user_writes import write_as_user
from twin.part import Part
from twin.workloads.arrival import WorkloadArrival
from twin.world import World

Running = tuple[tuple[int, int, Fault], ...]
Listener = Callable[[tuple[str, ...], bool], None]
"""Called when watches of these resources (none: of all) end; True: with 410."""


class Faults(Part):
    """The scenarios of one cluster."""

    KEEPS = ("_count", "_played", "_planned", "_targets", "refused")
    LEAVES = ("_listeners", "_read", "running")  # who listens; what follows from what is kept

    def __init__(self, world: World, levers: FaultTargets, arrivals: Arrivals) -> None:
        self._world = world
        self._levers = levers
        self._arrivals = arrivals
        self._draws = world.chance.draws("fault targets")
        self._count = 0
        self._played: dict[str, int] = {}  # how often each fault was played, as seed and JSON
        self._planned: dict[int, tuple[int, str]] = {}  # number: key of its draws, fault as JSON
        self._targets: dict[int, tuple[str, ...]] = {}  # of those that are running
        self.refused = 0
        """Writes of users that the API refused."""
        self._listeners: dict[int, Listener] = {}
        self._read: dict[int, Fault] = {}
        self.running: Running = ()
        """(number, key of its draws, fault) of what is going on now."""
        for name, handler in (
            ("begin", self._begin),
            ("end", self._end),
            ("arrive", self._arrive),
            ("cut", self._cut),
        ):
            world.clock.handle(f"faults.{name}", handler)

    def play(self, scenario: Scenario) -> int:
        """Plan every fault of a scenario, counting from now; return how many."""
        start = self._world.now
        for fault in scenario.faults:
            self._count += 1
            text = fault.model_dump_json(exclude_unset=True)
            key = key_of(scenario.seed, text, self._count_play(f"{scenario.seed} {text}"))
            self._planned[self._count] = (key, text)
            at = start + fault.at_seconds if fault.at_time is None else fault.at_time.timestamp()
            self._world.clock.at(at, "faults.begin", self._count)
        return len(scenario.faults)

    def shown(self) -> list[dict[str, Any]]:
        """Return what is running now: its number, the nodes that it hit, and what was given."""
        return [
            {
                "number": number,
                "hit": list(self._targets[number]),
                **fault.model_dump(mode="json", exclude_unset=True),
            }
            for number, _, fault in self.running
        ]

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` whenever watches are to end; returns what stops it."""
        ticket = max(self._listeners, default=0) + 1
        self._listeners[ticket] = listener
        return lambda: self._listeners.pop(ticket, None) and None

    def restored(self) -> None:
        """Build anew which faults are running."""
        self._read = {}
        self._note_running()

    # ---- one handler per event

    def _begin(self, number: int) -> None:
        fault = self._fault(number)
        named = getattr(fault, "nodes", None)
        key, draws = self._planned[number][0], self._draws
        names = targets(named, self._world.store, draws, key) if isinstance(named, Nodes) else ()
        self._targets[number] = names
        self._levers.begin(number, key, fault, names)
        if isinstance(fault, WatchCut | WatchExpiry):
            self._cut(number)
        if isinstance(fault, Autoscaler):
            with suppress(ApiError):  # it exists already
                kind = "horizontalpodautoscalers"
                self._world.store.create(kind, fault.namespace, autoscaler_of(fault))
        if isinstance(fault, UserWrite):
            self._write(fault)
        if isinstance(fault, Burst):
            play = self._count_play(f"burst {fault.name}")
            for index in range(fault.count):
                wait = fault.over_seconds * index / fault.count
                self._world.clock.after(wait, "faults.arrive", number, play, index)
            lasts: float | None = fault.over_seconds + 1.0
        else:
            lasts = getattr(fault, "duration_seconds", 0.0)
            if isinstance(fault, WatchCut) and not fault.every_seconds:
                lasts = 0.0
        if lasts is not None:
            self._world.clock.after(lasts, "faults.end", number)
        self._note_running()

    def _end(self, number: int) -> None:
        self._levers.end(number)
        del self._planned[number], self._targets[number]
        self._read.pop(number, None)
        self._note_running()

    def _arrive(self, number: int, play: int, index: int) -> None:
        fault = self._fault(number)
        assert isinstance(fault, Burst)
        self._arrivals.create(arrival_of(fault, f"{fault.name}-{play}-{index}"))

    def _cut(self, number: int) -> None:
        if number not in self._targets:
            return  # it has ended
        fault = self._fault(number)
        assert isinstance(fault, WatchCut | WatchExpiry)
        expired = isinstance(fault, WatchExpiry)
        if expired:
            self._world.store.forget(fault.resources)
        for listener in tuple(self._listeners.values()):
            listener(fault.resources, expired)
        if isinstance(fault, WatchCut) and fault.every_seconds:
            self._world.clock.after(fault.every_seconds, "faults.cut", number)

    # ---- inner parts

    def _write(self, fault: UserWrite) -> None:
        try:
            write_as_user(self._world.store, fault)
        except ApiError:
            self.refused += 1

    def _count_play(self, what: str) -> int:
        self._played[what] = count = self._played.get(what, 0) + 1
        return count

    def _fault(self, number: int) -> Fault:
        if number not in self._read:
            document = {"faults": [json.loads(self._planned[number][1])]}
            try:
                self._read[number] = scenario_of(document, "scenario").faults[0]
            except InputError as error:  # it was checked when it was given
                raise AssertionError(str(error)) from error
        return self._read[number]

    def _note_running(self) -> None:
        self.running = tuple(
            (number, self._planned[number][0], self._fault(number))
            for number in sorted(self._targets)
        )


def autoscaler_of(fault: Autoscaler) -> dict[str, Any]:
    """Return the object that the user would have created."""
    target = {"type": "Utilization", "averageUtilization": fault.cpu_percent}
    spec: dict[str, Any] = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": fault.deployment},
        "minReplicas": fault.min_replicas,
        "maxReplicas": fault.max_replicas,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
    }
    directions = {"scaleUp": fault.scale_up, "scaleDown": fault.scale_down}
    behavior = {name: rules.api_form() for name, rules in directions.items() if rules is not None}
    if behavior:
        spec["behavior"] = behavior
    return {"metadata": {"name": fault.deployment}, "spec": spec}


def arrival_of(burst: Burst, name: str) -> WorkloadArrival:
    """Return one workload of a burst, which uses what workloads without usage data use."""
    return WorkloadArrival(
        time_seconds=0.0,
        name=name,
        kind=burst.kind,
        cpu_request_millicores=max(1, round(burst.cpu_cores * 1000)),
        memory_request_bytes=burst.memory_bytes,
        gpus=burst.gpus,
        cpu_usage_ratio=0.3,
        memory_usage_ratio=0.5,
        duration_seconds=burst.work_seconds,
        outcome="succeed" if burst.kind == "task" else "run",
        replicas=burst.replicas,
        priority=burst.priority,
        labels={"foresail.dev/burst": burst.name},
        namespace=burst.namespace,
    )
