"""settling: after a start and after an outage nothing is begun until the cluster was seen whole for a while."""

from __future__ import annotations

from projections.standing import GIVES_BACK
from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check


def check(question: Question) -> GuardCheck | None:
    """Fail until whole observations have come for long enough; what gives back is never held."""
    limit, seen = question.settings.settling_seconds, question.state.seen
    planned = question.planned
    if not limit or planned is None or planned.direction in GIVES_BACK:
        return None
    since = seen.steady_since_seconds
    age = 0.0 if since is None else round(max(0.0, seen.cluster_time_seconds - since), 6)
    text = f"the cluster has been seen whole for {age:g} s; {limit:g} s are asked for"
    return guard_check(
        "settling",
        passed=age >= limit,
        reason=Reason.SETTLING,
        measured=age,
        limit=limit,
        unit="seconds",
        text="" if age >= limit else text,
    )


GUARDS = (Guard("settling", Needs.PLAN, 4, check),)
