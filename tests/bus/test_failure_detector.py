"""Who counts as frozen, and who only looks like it."""

from __future__ import annotations

import pytest

from bus.failure_detector import LATE_SECONDS, START_SECONDS, FailureDetector, LivenessReport

PATIENCE = 8.0
WELL = LivenessReport(0.1, ready=True)
STARTING = LivenessReport(0.1, ready=False)


def silent(detector: FailureDetector, seconds: float, sign: LivenessReport | None = None) -> None:
    """Let whole rounds of a second pass in which the same is heard."""
    for _ in range(int(seconds)):
        detector.observe(1.0, 1.0, sign)


def detector_after(sign: LivenessReport) -> FailureDetector:
    """Return the silence of a process that gave one sign so far."""
    detector = FailureDetector(PATIENCE)
    detector.observe(1.0, 1.0, sign)
    return detector


def test_a_process_that_says_nothing_any_more_is_frozen() -> None:
    """Silence counts from the last sign, to the second."""
    detector = detector_after(WELL)
    silent(detector, PATIENCE - 1)
    assert not detector.frozen
    silent(detector, 1)
    assert detector.frozen


def test_a_loop_that_does_not_turn_is_silence_although_a_thread_answers() -> None:
    """A hanging loop's age grows, and counts like no answer."""
    detector = detector_after(WELL)
    for age in range(1, 9):
        detector.observe(1.0, 1.0, LivenessReport(float(age), ready=True))

    assert detector.frozen


def test_a_slow_process_is_not_frozen() -> None:
    """A loop that turns every few seconds, and answers that are lost in between, freeze nobody."""
    detector = detector_after(WELL)
    for _ in range(20):
        silent(detector, PATIENCE - 2)
        detector.observe(1.0, 1.0, LivenessReport(PATIENCE - 2, ready=True))
        detector.observe(1.0, 1.0, WELL)
        assert not detector.frozen


def test_a_process_that_starts_has_time() -> None:
    """Before it is ready once (it loads a model, reads a long log) a process may be silent for
    minutes; a process that never answered is judged by nobody.
    """
    starting, unheard = detector_after(STARTING), FailureDetector(PATIENCE)
    silent(starting, START_SECONDS - 1)
    silent(unheard, 10 * START_SECONDS)
    assert not starting.frozen
    assert not unheard.frozen

    silent(starting, 1)
    assert starting.frozen


def test_being_ready_once_ends_the_grace() -> None:
    """A process that lost its log later is still one that was ready."""
    detector = detector_after(WELL)
    detector.observe(1.0, 1.0, STARTING)
    silent(detector, PATIENCE)

    assert detector.frozen


@pytest.mark.parametrize("pause", [LATE_SECONDS + 0.1, 3_600.0])
@pytest.mark.parametrize("sign", [None, LivenessReport(3_600.0, ready=True)])
def test_nobody_is_frozen_after_the_listener_was_away(
    pause: float, sign: LivenessReport | None
) -> None:
    """The machine slept: the listener's round took long, the process has not turned yet, and even
    one that was silent before does not become frozen by it.
    """
    detector = detector_after(WELL)
    silent(detector, PATIENCE - 1)
    detector.observe(1.0, 1.0 + pause, sign)

    assert not detector.frozen
    detector.observe(1.0, 1.0, WELL)
    assert 0.1 == detector.seconds


def test_who_waits_for_a_processor_is_not_frozen() -> None:
    """On a machine that gives a process a tenth of the time, silence counts a tenth, and late rounds count; one
    that is stopped waits for nothing.
    """
    starved, stopped = detector_after(WELL), detector_after(WELL)
    for _ in range(9):
        starved.observe(1.0, 8.0, None, 7.2)
        assert not starved.frozen
    starved.observe(1.0, 8.0, None, 7.2)
    assert starved.frozen

    silent(stopped, PATIENCE)
    assert stopped.frozen
