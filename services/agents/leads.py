"""How long a raise takes: from the change of the number until its last pod is ready. Pure."""

from __future__ import annotations

from typing import NamedTuple

from schemas.numbers import rounded

KEPT_LEADS = 8


class Leads(NamedTuple):
    """How long the newest raises took, oldest first, and whether pods of the newest are still awaited."""

    seconds: tuple[float, ...] = ()
    awaited: bool = False


def leads_after(
    leads: Leads, elapsed_seconds: float, step_seconds: float, *, raised: bool, ready: bool
) -> Leads:
    """Return the leads after a step; each raise counts once, so that pods that fail later are no lead.

    Args:
        leads: those before.
        elapsed_seconds: cluster time since our newest change of the number was first seen.
        step_seconds: of the observations; the number was changed within the step before it was first seen.
        raised: whether a raise of ours was first seen now.
        ready: whether as many pods are ready as the number says.
    """
    if raised:
        return Leads(leads.seconds, awaited=True)
    if not (leads.awaited and ready):
        return leads
    return Leads((*leads.seconds, rounded(elapsed_seconds + step_seconds))[-KEPT_LEADS:])
