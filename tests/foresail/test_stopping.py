"""A verb that is stopped ends, cleans up, and its caller learns that it was stopped."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time

import pytest

from foresail import stopping


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the tests short."""
    monkeypatch.setattr(stopping, "PATIENCE_SECONDS", 0.1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_verb_that_never_waits_is_interrupted(number: signal.Signals) -> None:
    """Cancelling a task that computes changes nothing, so it is interrupted where it stands."""

    ends = []

    async def compute() -> int:
        signal.raise_signal(number)
        until = time.process_time() + 5.0
        while time.process_time() < until:
            pass
        ends.append("computed to its end")
        return 0

    with pytest.raises(KeyboardInterrupt), stopping.stopping_by_signal():
        stopping.run(compute())
    assert ends == []


def test_a_verb_that_ends_in_spite_of_the_signal_is_stopped_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither its result nor its error hides that it was stopped, long before patience ends."""
    monkeypatch.setattr(stopping, "PATIENCE_SECONDS", 600.0)

    async def finish() -> int:
        signal.raise_signal(signal.SIGTERM)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60.0)
        return 0

    async def fail() -> int:
        signal.raise_signal(signal.SIGTERM)
        raise ValueError("half way")

    for verb in (finish, fail):
        with pytest.raises(KeyboardInterrupt), stopping.stopping_by_signal():
            stopping.run(verb())


def test_a_verb_that_waits_cleans_up() -> None:
    """It is cancelled, and what it does on its way out may wait, too."""
    steps = []

    async def wait() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.sleep(60.0)
        finally:
            await asyncio.sleep(0.0)
            steps.append("cleaned up")

    with pytest.raises(KeyboardInterrupt), stopping.stopping_by_signal():
        stopping.run(wait())
    assert ["cleaned up"] == steps


def test_without_a_signal_nothing_changes() -> None:
    """Results, errors and the handlers of before are kept."""
    before = signal.getsignal(signal.SIGTERM)

    async def answer() -> int:
        return 3

    async def fail() -> int:
        raise ValueError("half way")

    with stopping.stopping_by_signal():
        assert 3 == stopping.run(answer())
    with pytest.raises(ValueError, match="half way"), stopping.stopping_by_signal():
        stopping.run(fail())
    assert before is signal.getsignal(signal.SIGTERM)
