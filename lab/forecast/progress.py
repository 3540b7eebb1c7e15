"""How long runs say what they do and how far they are."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Told what is being done, in words, and which share of everything is done, 0 to 1."""


def within(progress: Progress, label: str, begin: float, end: float) -> Progress:
    """Return the progress of a part that goes from one share of everything to another."""
    return lambda text, share: progress(f"{label}: {text}", begin + (end - begin) * share)


def in_steps(progress: Progress, steps: int) -> Callable[[str], None]:
    """Return what is called with the words of each step before it is done; all take equal shares."""
    done = -1

    def begin(text: str) -> None:
        nonlocal done
        done += 1
        progress(text, min(1.0, done / steps))

    return begin
