"""May this observation be judged at all?

There is no proposal on signals that are missing or older than their limit.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.actions import Evidence
from schemas.reasons import Reason
from schemas.signals import Signal, SignalStatus
from schemas.view import ObservationView
from services.agents.policy import Judgement, noop


def refusal(
    view: ObservationView, needed: Sequence[str], limit_intervals: float
) -> Judgement | None:
    """Return the noop that a stale or missing signal demands; None when all needed signals hold.

    Args:
        view: the observation.
        needed: names of the signals.
        limit_intervals: greatest age, in intervals of the observation, beside the limit that the
        signal itself states. A signal that is followed has its own limit alone: on a quiet cluster the
        server speaks once a minute, and that is no age.
    """
    limit_seconds = limit_intervals * view.interval_seconds
    for name in needed:
        signal = view.signal(name)
        if signal is None or signal.status in (SignalStatus.MISSING, SignalStatus.ASSUMED):
            return noop(
                Reason.MISSING_SIGNAL, f"signal {name} is missing; nothing is judged without it"
            )
        limit = limit_seconds if signal.limit_seconds is None else signal.limit_seconds
        if not signal.watched:
            limit = min(limit, limit_seconds)
        if signal.status is SignalStatus.STALE or (signal.age_seconds or 0.0) > limit:
            return _stale(signal, limit)
    return None


def excepted_rows(view: ObservationView, needed: Sequence[str]) -> frozenset[str]:
    """Return the rows for which a needed signal does not hold; they are not judged."""
    return frozenset(
        row_id for signal in view.signals if signal.name in needed for row_id in signal.exceptions
    )


def _stale(signal: Signal, limit_seconds: float) -> Judgement:
    age = Evidence(
        name=f"{signal.name}_age_seconds",
        value=signal.age_seconds,
        comparison=">",
        threshold=limit_seconds,
        holds=True,
        signal=signal.name,
        age_seconds=signal.age_seconds,
    )
    shown = "unknown" if signal.age_seconds is None else f"{signal.age_seconds:.6g} s"
    text = f"signal {signal.name} is stale (age {shown}, limit {limit_seconds:.6g} s)"
    return noop(Reason.STALE_SIGNAL, text, evidence=(age,), decisive=(age,))
