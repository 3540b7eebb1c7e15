"""Guard rails: what may keep a decision from being executed, each in a file of this folder.

All are asked in one way: a pure `check` answers a `Question`, once for a decision and its plan. Those that look at
what a write touches, or at what may change meanwhile, are asked again right before each write, with what is read then.

The files are read once a process. They are imported by their path and not by their name, so no file
has to be edited for a new one.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from bus.errors import ConfigError
from schemas.outcome import GuardCheck, Operation
from schemas.reasons import Reason
from services.executor.ledger import Execution, Ledger, PendingDecision
from services.executor.plans.planned import OperationPlan
from services.executor.reach import EVERYWHERE, Reach, Scope
from services.executor.settings import ExecutorSettings

PARENT = "services.executor.guards"


class Needs(Enum):
    """Knowledge that a guard needs; those that need less are asked first, and what fails spares the rest."""

    LOG = 1
    """What the log says, before the cluster is read."""
    REACH = 2
    """What the operations touch."""
    PLAN = 3
    """The whole plan."""


@dataclass(frozen=True)
class Write:
    """An operation right before it is sent."""

    operation: Operation
    takes_back: bool
    """It is of a plan that takes an execution back."""
    pods_left: tuple[str, ...] = ()
    """Pods that would end with the machine that it ends."""


@dataclass(frozen=True)
class Question:
    """May this decision be executed now? Asked once for it and its plan, and again before each write."""

    due: PendingDecision
    state: Ledger
    settings: ExecutorSettings
    now_seconds: float
    """Cluster time."""
    planned: OperationPlan | None = None
    reaches: tuple[Reach, ...] = ()
    """What each operation to be written touches, read just before."""
    scope: Scope = EVERYWHERE
    """Scope of writes."""
    write: Write | None = None
    """What is about to be written; `state` then has the operator's newest command and the newest cycle.
    None: the decision is asked about."""

    def recent(self, seconds: float) -> list[Execution]:
        """Return executions that began within the last `seconds` of cluster time, those of an exercise aside once
        they were taken back.
        """
        return [
            execution
            for execution in self.state.executions
            if self.now_seconds - execution.time_seconds < seconds and not execution.exercised
        ]

    def on_target(self, executions: list[Execution]) -> list[Execution]:
        """Return those that hit the same target."""
        return [
            execution
            for execution in executions
            if execution.action.target == self.due.action.target
        ]


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard rail, as its file declares it."""

    name: str
    """The name in the log, as its answers give it (`GuardCheck.guard`)."""
    needs: Needs
    order: int
    """Its place among those that need the same; smaller is asked first, and of several that fail the first
    gives the reason."""
    check: Callable[[Question], GuardCheck | None]
    """None: the guard has nothing to say here, and the log holds nothing of it."""
    each_write: bool = False
    """Asked once more right before each write, with what is read then; also where the write takes something
    back or completes an older plan."""


@lru_cache(maxsize=1)
def registered_guards() -> tuple[Guard, ...]:
    """Return every guard, by what it needs and its place.

    Raises:
        ConfigError: a file that declares no guard that can be used.
    """
    parent = importlib.import_module(PARENT)
    files = sorted(module_info.name for module_info in pkgutil.iter_modules(parent.__path__))
    return check_guards(
        (name, getattr(importlib.import_module(f"{PARENT}.{name}"), "GUARDS", None))
        for name in files
    )


def check_guards(declared: Iterable[tuple[str, object]]) -> tuple[Guard, ...]:
    """Return guards by what they need and their place, after seeing that they can stand beside one another.

    Args:
        declared: file names, without suffix, with what each declares as `GUARDS`.

    Raises:
        ConfigError: a file without guards, or a name or place that two have.
    """
    guards: list[Guard] = []
    for file, own in declared:
        where = f"services/executor/guards/{file}.py"
        if (
            not isinstance(own, tuple)
            or not own
            or not all(isinstance(guard, Guard) for guard in own)
        ):
            raise ConfigError(f"{where}: GUARDS", own, "set it to a tuple of Guard")
        for guard in own:
            for other in guards:
                if other.name == guard.name:
                    raise ConfigError(f"{where}: name", guard.name, "another guard has it already")
                if (other.needs, other.order) == (guard.needs, guard.order):
                    remedy = f"{other.name} has it already in {guard.needs.name}"
                    raise ConfigError(f"{where}: order", guard.order, remedy)
            guards.append(guard)
    return tuple(sorted(guards, key=lambda guard: (guard.needs.value, guard.order)))


def ask_guards(needs: Needs, question: Question) -> tuple[GuardCheck, ...]:
    """Return the answer of every guard that needs this and has one; before a write of those alone that are asked again.

    Raises:
        ConfigError: a file declares no guard that can be used.
    """
    asked = (
        guard.check(question)
        for guard in registered_guards()
        if guard.needs is needs and (guard.each_write or question.write is None)
    )
    return tuple(check for check in asked if check is not None)


def guard_check(
    guard: str,
    *,
    passed: bool,
    reason: Reason,
    measured: float | None = None,
    limit: float | None = None,
    unit: str = "",
    text: str = "",
) -> GuardCheck:
    """Return a guard's answer; the reason is kept only when it failed."""
    return GuardCheck(
        guard=guard,
        passed=passed,
        measured=measured,
        limit=limit,
        unit=unit,
        reason=None if passed else reason,
        text=text,
    )


def found_check(guard: str, found: Collection[str], reason: Reason, unit: str) -> GuardCheck:
    """Return the answer of a guard that looks for what must not be there; the first of it is told."""
    return guard_check(
        guard,
        passed=not found,
        reason=reason,
        measured=len(found),
        limit=0,
        unit=unit,
        text=next(iter(found), ""),
    )
