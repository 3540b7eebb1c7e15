"""How long a raise takes: from the change of the number until its last pod is ready. Pure."""

from __future__ import annotations

from schemas.numbers import rounded

KEPT_LEADS = 8


def leads_after(
    leads: tuple[float, ...], seconds: float, step_seconds: float, *, waited: bool, ready: bool
) -> tuple[float, ...]:
    """Return the newest leads after a step.

    Args:
        leads: those before, oldest first.
        seconds: cluster time since the change of the number was first seen.
        step_seconds: of the observations; the number was changed within the step before it was first seen.
        waited: whether pods of a raise of ours were not ready before.
        ready: whether all are now, of the same number.
    """
    if not (waited and ready):
        return leads
    return (*leads, rounded(seconds + step_seconds))[-KEPT_LEADS:]
