"""Which effects count as attempted: each once for a cycle, and again only where a retry is allowed."""

from __future__ import annotations

import pytest

from services.executor.execution import attempts as module
from services.executor.execution.attempts import Attempts, SideEffect


def test_an_effect_of_a_cycle_begins_once() -> None:
    """The state may ask again before the published event is back; nothing is done twice."""
    attempts = Attempts()

    assert [attempts.begin(SideEffect.EXECUTE, 7) for _ in range(3)] == [True, False, False]


def test_effects_and_cycles_are_told_apart() -> None:
    """Executing a cycle blocks neither its verification nor another cycle."""
    attempts = Attempts()
    attempts.begin(SideEffect.EXECUTE, 1)

    assert attempts.begin(SideEffect.VERIFY, 1)
    assert attempts.begin(SideEffect.ROLL_BACK, 1)
    assert attempts.begin(SideEffect.EXECUTE, 11)


def test_what_could_not_be_attempted_begins_again() -> None:
    """A cluster that was away for the first try gets a second one, of that effect alone."""
    attempts = Attempts()
    attempts.begin(SideEffect.VERIFY, 1)
    attempts.begin(SideEffect.ROLL_BACK, 1)

    attempts.allow_retry(SideEffect.VERIFY, 1)

    assert attempts.begin(SideEffect.VERIFY, 1)
    assert not attempts.begin(SideEffect.ROLL_BACK, 1)


def test_the_oldest_attempts_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded; the newest attempts stay."""
    monkeypatch.setattr(module, "KEPT_ATTEMPTS", 2)
    attempts = Attempts()
    for cycle in (1, 2, 3):
        attempts.begin(SideEffect.EXECUTE, cycle)

    assert attempts.begin(SideEffect.EXECUTE, 1)
    assert not attempts.begin(SideEffect.EXECUTE, 3)
