"""The scheduler's sentences: framework/types.go (FitError) and preemption/preemption.go, v1.36."""

from __future__ import annotations

from collections import Counter

NO_NODES = "no nodes available to schedule pods"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NO_CLAIMS = "no new claims to deallocate"
"""What DynamicResources says after the filters, before preemption does."""
POLICY_NEVER = "preemption: not eligible due to preemptionPolicy=Never."
VICTIMS_LEAVING = "preemption: not eligible due to a terminating pod on the nominated node."
_NOTE_LIMIT = 1_024  # of a KubeEvent's message


def fit_error(nodes: int, reasons: Counter[str]) -> str:
    """Return `0/3 nodes are available: 2 Insufficient cpu, 1 ...`, reasons in order of text."""
    listed = ", ".join(sorted(f"{count} {text}" for text, count in reasons.items() if count))
    return f"0/{nodes} nodes are available: {listed}."


def early_error(nodes: int, reason: str) -> str:
    """Return why a pod cannot go to any node before one is looked at (pre-filters).

    The two words at the end are what 1.36 says of preemption that found no node to try.
    """
    return f"0/{nodes} nodes are available: {reason}. not found"


def preemption_error(nodes: int, tried: int, reasons: Counter[str]) -> str:
    """Return why no pod can be displaced; a node that was tried may have several reasons."""
    counted = Counter(reasons)
    counted[NOT_HELPFUL] += nodes - tried
    return f"preemption: {fit_error(nodes, counted)}"


def note(sentence: str) -> str:
    """Return a sentence as a KubeEvent may carry it."""
    return sentence if len(sentence) <= _NOTE_LIMIT else f"{sentence[: _NOTE_LIMIT - 4]} ..."
