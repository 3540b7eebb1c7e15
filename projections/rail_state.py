"""How far the guard rails of one target are used up at a moment: what cools down, what caps and budgets have left.

Made from the executor's own settings and executions, as they stand in the log; the executor alone decides, and asks
more (docs/guard-rails.md). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from schemas.config import Config
from schemas.envelope import Event
from schemas.model import DataModel
from schemas.numbers import Rounded
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.stimulus import Stimulus

UNDONE_BY = {"off": "on", "on": "off", "close": "open", "open": "close", "up": "down", "down": "up"}


class RailState(DataModel):
    """One guard rail of one target."""

    rail: str
    """As outcomes name it (`GuardCheck.guard`)."""
    about: str
    """Which kind of action, budget, namespace or workload."""
    used: Rounded | None = None
    limit: Rounded
    unit: str
    left_seconds: Rounded | None = None
    """Cluster time until it lets the next one pass, or the oldest counted one is too old; None: nothing counts."""
    holds: bool
    """Whether it refuses what it is about, now."""


@dataclass(frozen=True, slots=True)
class Acted:
    """An execution as guard rails count it."""

    place: tuple[int, int]
    time_seconds: float
    kind: str
    target: str
    on_node: bool
    on_workload: bool
    direction: str
    workloads: tuple[str, ...]
    namespaces: frozenset[str]
    failed: bool = False
    rolled_back: bool = False
    exercised: bool = False


@dataclass(slots=True)
class RailLedger:
    """What was executed and by which settings, so far."""

    settings: Mapping[str, Any] | None = None
    """Of the executor; None: not told yet."""
    nodes: int = 0
    now_seconds: float = 0.0
    acted: list[Acted] = field(default_factory=list)
    exercise: tuple[int, int] | None = None
    """Cycles of a phase of the exerciser that is taken back."""

    def add(self, event: Event[Any]) -> None:
        """Take in one event."""
        match event.data:
            case Config(process="executor", settings=settings):
                self.settings = settings
            case Observation(cluster_time_seconds=now, totals=totals):
                self.now_seconds, self.nodes = now, totals.nodes
            case Stimulus(since_cycle=int() as first, until_cycle=int() as last):
                self.exercise = (first, last)
            case Stimulus():
                self.exercise = None
            case OutcomeExecution() as data:
                self._add_execution(data)
            case _:
                pass

    def rails(self, target: str) -> list[RailState]:
        """Return the guard rails of a node, or of a workload `<namespace>/<kind>/<name>`, at the newest observation."""
        if self.settings is None:
            return []
        common = [*self._cool_downs(target), *self._ping_pong(target)]
        if "/" in target:
            return [*common, *self._workload_caps(target)]
        return [*common, self._node_cap(target), *self._budgets(target)]

    def _add_execution(self, data: OutcomeExecution) -> None:
        place = (data.cycle, data.part)
        if data.rollback_of:
            if data.phase is ExecutionPhase.FINISHED:
                practice = self.exercise is not None and (
                    self.exercise[0] <= data.cycle <= self.exercise[1]
                )
                self._change(
                    place,
                    lambda one: replace(
                        one, rolled_back=True, exercised=bool(data.succeeded) and practice
                    ),
                )
        elif data.phase is ExecutionPhase.STARTED:
            self.acted.append(_acted(data))
        elif data.phase is ExecutionPhase.FINISHED and data.succeeded is False:
            self._change(place, lambda one: replace(one, failed=True))

    def _change(self, place: tuple[int, int], change: Callable[[Acted], Acted]) -> None:
        for number in range(len(self.acted) - 1, -1, -1):
            if self.acted[number].place == place:
                self.acted[number] = change(self.acted[number])
                return

    def _recent(self, seconds: float) -> list[Acted]:
        return [
            one
            for one in self.acted
            if self.now_seconds - one.time_seconds < seconds and not one.exercised
        ]

    def _seconds(self, name: str) -> float:
        value = None if self.settings is None else self.settings.get(name)
        return float(value) if isinstance(value, int | float) else 0.0

    def _cool_downs(self, target: str) -> Iterator[RailState]:
        limit = self._seconds("cool_down_seconds")
        newest: dict[tuple[str, str], Acted] = {}
        for one in self._recent(limit):
            if one.target == target:
                newest[one.kind, one.direction] = one
        for (kind, direction), one in sorted(newest.items()):
            yield self._waiting("cool_down", f"{kind}, {direction}", limit, one)
        after_failure = self._seconds("cool_down_after_failure_seconds")
        failed = [one for one in self._recent(after_failure) if one.target == target and one.failed]
        if failed:
            yield self._waiting("cool_down_after_failure", "any action", after_failure, failed[-1])

    def _ping_pong(self, target: str) -> Iterator[RailState]:
        limit = self._seconds("ping_pong_seconds")
        newest: dict[str, Acted] = {}
        for one in self._recent(limit):
            undoing = UNDONE_BY.get(one.direction)
            if one.target == target and undoing is not None and not one.rolled_back:
                newest[undoing] = one
        for undoing, one in sorted(newest.items()):
            yield self._waiting("ping_pong", f"{undoing}, unless severity rises", limit, one)

    def _waiting(self, rail: str, about: str, limit: float, one: Acted) -> RailState:
        age = self.now_seconds - one.time_seconds
        left = max(0.0, limit - age)
        return RailState(
            rail=rail,
            about=about,
            used=age,
            limit=limit,
            unit="seconds",
            left_seconds=left,
            holds=left > 0,
        )

    def _workload_caps(self, target: str) -> Iterator[RailState]:
        of_workload, _ = self._cap("per_workload")
        mine = [one for one in self._in_window() if target in one.workloads]
        yield self._counted("cap_per_workload", target, mine, of_workload)
        namespace = target.partition("/")[0]
        of_namespace, _ = self._cap("per_namespace")
        there = [
            one for one in self._in_window() if not one.on_workload and namespace in one.namespaces
        ]
        yield self._counted(
            "cap_per_namespace", f"{namespace}, but for replicas", there, of_namespace
        )

    def _node_cap(self, target: str) -> RailState:
        limit, _ = self._cap("per_node")
        mine = [one for one in self._in_window() if one.on_node and one.target == target]
        return self._counted("cap_per_node", target, mine, limit)

    def _cap(self, name: str) -> tuple[int, float]:
        caps = {} if self.settings is None else self.settings.get("caps") or {}
        return int(caps.get(name, 0)), float(caps.get("window_seconds", 0.0))

    def _in_window(self) -> list[Acted]:
        return self._recent(self._cap("per_node")[1])

    def _counted(self, rail: str, about: str, counted: Sequence[Acted], limit: int) -> RailState:
        window = self._cap("per_node")[1]
        return RailState(
            rail=rail,
            about=about,
            used=len(counted),
            limit=limit,
            unit="executions",
            left_seconds=self._until_free(counted, window),
            holds=len(counted) >= limit,
        )

    def _until_free(self, counted: Sequence[Acted], window: float) -> float | None:
        if not counted:
            return None
        return max(0.0, window - (self.now_seconds - counted[0].time_seconds))

    def _budgets(self, target: str) -> Iterator[RailState]:
        for budget in _budgets_in_force(self.settings or {}):
            window, kinds = float(budget["window_seconds"]), frozenset(budget["reasons"])
            counted = [
                one
                for one in self._recent(window)
                if one.on_node and one.kind in kinds and one.direction != "on"
                if not one.rolled_back
            ]
            names = {one.target for one in counted}
            limit = _share(str(budget["nodes"]), self.nodes)
            when = f", {budget['schedule']} UTC" if budget.get("schedule") else ""
            yield RailState(
                rail="budget",
                about=f"{', '.join(sorted(kinds))} of all nodes{when}",
                used=len(names),
                limit=limit,
                unit="nodes",
                left_seconds=self._until_free(counted, window),
                holds=target not in names and len(names) >= limit,
            )


def _acted(data: OutcomeExecution) -> Acted:
    target = data.action.target
    return Acted(
        place=(data.cycle, data.part),
        time_seconds=data.cluster_time_seconds,
        kind=str(data.action.kind),
        target=target.name,
        on_node=target.kind == "node",
        on_workload=target.kind == "workload",
        direction=data.direction,
        workloads=data.workloads,
        namespaces=frozenset(one.namespace for one in data.operations if one.namespace),
    )


def _budgets_in_force(settings: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Return the budgets; where namespaces are named, the one default stands for one of each kind."""
    budgets: Sequence[Mapping[str, Any]] = settings.get("budgets") or ()
    default = len(budgets) == 1 and {**budgets[0], "reasons": None} == {
        "nodes": "10%",
        "reasons": None,
        "window_seconds": 600.0,
        "schedule": "",
    }
    if default and settings.get("namespaces") is not None:
        return [{**budgets[0], "reasons": [kind]} for kind in budgets[0]["reasons"]]
    return budgets


def _share(nodes: str, of: int) -> int:
    return -(-of * int(nodes[:-1]) // 100) if nodes.endswith("%") else int(nodes)
