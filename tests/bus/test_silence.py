"""Who counts as frozen, and who only looks like it."""

from __future__ import annotations

import pytest

from bus.silence import LATE_SECONDS, START_SECONDS, Sign, Silence

PATIENCE = 8.0
WELL = Sign(0.1, ready=True)
STARTING = Sign(0.1, ready=False)


def silent(silence: Silence, seconds: float, sign: Sign | None = None) -> None:
    """Let whole rounds of a second pass in which the same is heard."""
    for _ in range(int(seconds)):
        silence.listen(1.0, 1.0, sign)


def heard(sign: Sign) -> Silence:
    """Return the silence of a process that gave one sign so far."""
    silence = Silence(PATIENCE)
    silence.listen(1.0, 1.0, sign)
    return silence


def test_a_process_that_says_nothing_any_more_is_frozen() -> None:
    """Silence counts from the last sign, to the second."""
    silence = heard(WELL)
    silent(silence, PATIENCE - 1)
    assert not silence.frozen
    silent(silence, 1)
    assert silence.frozen


def test_a_loop_that_does_not_turn_is_silence_although_a_thread_answers() -> None:
    """A hanging loop's age grows, and counts like no answer."""
    silence = heard(WELL)
    for age in range(1, 9):
        silence.listen(1.0, 1.0, Sign(float(age), ready=True))

    assert silence.frozen


def test_a_slow_process_is_not_frozen() -> None:
    """A loop that turns every few seconds, and answers that are lost in between, freeze nobody."""
    silence = heard(WELL)
    for _ in range(20):
        silent(silence, PATIENCE - 2)
        silence.listen(1.0, 1.0, Sign(PATIENCE - 2, ready=True))
        silence.listen(1.0, 1.0, WELL)
        assert not silence.frozen


def test_a_process_that_starts_has_time() -> None:
    """Before it is ready once (it loads a model, reads a long log) a process may be silent for
    minutes; a process that never answered is judged by nobody.
    """
    starting, unheard = heard(STARTING), Silence(PATIENCE)
    silent(starting, START_SECONDS - 1)
    silent(unheard, 10 * START_SECONDS)
    assert not starting.frozen
    assert not unheard.frozen

    silent(starting, 1)
    assert starting.frozen


def test_being_ready_once_ends_the_grace() -> None:
    """A process that lost its log later is still one that was ready."""
    silence = heard(WELL)
    silence.listen(1.0, 1.0, STARTING)
    silent(silence, PATIENCE)

    assert silence.frozen


@pytest.mark.parametrize("pause", [LATE_SECONDS + 0.1, 3_600.0])
@pytest.mark.parametrize("sign", [None, Sign(3_600.0, ready=True)])
def test_nobody_is_frozen_after_the_listener_was_away(pause: float, sign: Sign | None) -> None:
    """The machine slept: the listener's round took long, the process has not turned yet, and even
    one that was silent before does not become frozen by it.
    """
    silence = heard(WELL)
    silent(silence, PATIENCE - 1)
    silence.listen(1.0, 1.0 + pause, sign)

    assert not silence.frozen
    silence.listen(1.0, 1.0, WELL)
    assert 0.1 == silence.seconds
