"""Measurements of the checks of a played trap."""

from __future__ import annotations

from dataclasses import dataclass

from lab.traps.trap import Trap, TrapCheck
from lab.traps.trap_log import TrapLog


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check and what was measured."""

    check: TrapCheck
    value: float
    must: bool
    """Whether a good operator does it; otherwise it must not be done."""

    @property
    def holds(self) -> bool:
        """Whether the number is within its bounds."""
        return self.check.holds(self.value)


@dataclass(frozen=True, slots=True)
class PlayedTrap:
    """A trap under one profile."""

    trap: Trap
    profile: str
    results: tuple[CheckResult, ...]
    executed: int
    """Executions that succeeded."""
    refused: int
    gain: float
    """Effect of acting, in money."""
    currency: str

    @property
    def passes(self) -> bool:
        """Whether every check holds."""
        return all(result.holds for result in self.results)

    @property
    def failures(self) -> tuple[str, ...]:
        """What does not hold, with the measured number."""
        return tuple(
            f"{result.check.text}: {result.value:g} is not {bounds_text(result.check)}"
            for result in self.results
            if not result.holds
        )


def bounds_text(check: TrapCheck) -> str:
    """Return the bounds in words."""
    low, high = check.at_least, check.at_most
    if low is not None and low == high:
        return f"{low:g}"
    parts = [f"at least {low:g}"] if low is not None else []
    parts += [f"at most {high:g}"] if high is not None else []
    return " and ".join(parts)


def answer(trap: Trap, profile: str, log: TrapLog) -> PlayedTrap:
    """Return what a trap's checks say of its log."""
    results = tuple(
        CheckResult(check, log.measure(check), must=place < len(trap.must))
        for place, check in enumerate(trap.checks)
    )

    def count(what: str) -> int:
        return int(
            log.measure(TrapCheck.model_validate({"text": what, "what": what, "at_least": 0}))
        )

    return PlayedTrap(
        trap=trap,
        profile=profile,
        results=results,
        executed=count("executed"),
        refused=count("refused"),
        gain=0.0 if log.changed is None else log.changed.total_money,
        currency="USD" if log.changed is None else log.changed.currency,
    )
