"""unready_nodes: where many nodes turn NotReady together nothing is begun, since it is rather the network or the
control plane than the nodes (the zone rule of Kubernetes' node lifecycle controller).
"""

from __future__ import annotations

from projections.standing import GIVES_BACK
from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check

LEAST_NODES = 3
"""As the node controller: fewer unready nodes are no outage of a zone."""


def check(question: Question) -> GuardCheck | None:
    """Fail while too large a share of the nodes is not ready; what gives back is never held."""
    limit, seen = question.settings.brake_ratio, question.state.seen
    planned = question.planned
    if not limit or not seen.nodes or planned is None or planned.direction in GIVES_BACK:
        return None
    share = seen.nodes_unready / seen.nodes
    stands = share >= limit and seen.nodes_unready >= LEAST_NODES
    text = (
        f"{seen.nodes_unready} of {seen.nodes} nodes are not ready; "
        f"nothing is begun until fewer than {limit:.0%} are"
    )
    return guard_check(
        "unready_nodes",
        passed=not stands,
        reason=Reason.UNREADY_NODES,
        measured=share,
        limit=limit,
        unit="ratio",
        text=text if stands else "",
    )


GUARDS = (Guard("unready_nodes", Needs.PLAN, 2, check),)
